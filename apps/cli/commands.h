// SPDX-License-Identifier: Apache-2.0
// The commands: each adds itself to the parser and, when the command line names it, leaves its exit
// code.
#pragma once

namespace CLI {
class App;
}

namespace rill::cli {

void add_transcribe_command(CLI::App& app, int& exit_code);
void add_speak_command(CLI::App& app, int& exit_code);
void add_talk_command(CLI::App& app, int& exit_code);
void add_chat_command(CLI::App& app, int& exit_code);
void add_complete_command(CLI::App& app, int& exit_code);
void add_tokenize_command(CLI::App& app, int& exit_code);
void add_run_command(CLI::App& app, int& exit_code);
void add_models_command(CLI::App& app, int& exit_code);
void add_perplexity_command(CLI::App& app, int& exit_code);
void add_inspect_command(CLI::App& app, int& exit_code);
void add_verify_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);
void add_convert_command(CLI::App& app, int& exit_code);
void add_quantize_command(CLI::App& app, int& exit_code);
void add_demo_command(CLI::App& app, int& exit_code);

}  // namespace rill::cli
