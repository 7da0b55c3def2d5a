// SPDX-License-Identifier: Apache-2.0
// rill tokenize: text to token ids and pieces, and back.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "exit_codes.h"
#include "model_source.h"
#include "output.h"
#include "text_flags.h"

namespace rill::cli {
namespace {

struct TokenizeOptions {
  ModelOptions model;
  std::vector<std::string> words;
  bool ids_only = false;
  bool no_bos = false;
  bool no_special = false;
  bool decode = false;
};

int open_tokenizer(const TokenizeOptions& options, TokenizerHandle& tokenizer) {
  if (options.model.model.empty() && options.model.hf_repo.empty())
    return report_usage("--model is missing", "tokenize");
  ModelSource source;
  const int exit_code =
      find_model(options.model.model, options.model.hf_repo, options.model.offline, source);
  if (exit_code != kExitOk) return exit_code;
  ErrorSlot error;
  const std::string path = main_file(source);
  const rill_status status = rill_tokenizer_open(path.c_str(), Out(tokenizer), error.out());
  return status == RILL_OK ? kExitOk : report(status, error);
}

/// A token's text in quotes, with escapes where it is not plain.
std::string quoted_piece(const rill_tokenizer* tokenizer, int32_t id) {
  size_t size = 0;
  const char* bytes = rill_token_bytes(tokenizer, id, &size);
  if (bytes == nullptr) return "";
  const std::string piece(bytes, size);
  try {
    return nlohmann::json(piece).dump();
  } catch (const nlohmann::json::exception&) {  // no whole characters
    std::string out = "\"";
    constexpr char kDigits[] = "0123456789abcdef";
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
    return out + "\"";
  }
}

int print_tokens(const TokenizeOptions& options, const std::string& text,
                 const rill_tokenizer* tokenizer) {
  ErrorSlot error;
  TokensHandle tokens;
  const rill_status status =
      rill_tokenize(tokenizer, text.data(), text.size(), options.no_bos ? 0 : 1,
                    options.no_special ? 0 : 1, Out(tokens), error.out());
  if (status != RILL_OK) return report(status, error);
  const int32_t* ids = rill_tokens_data(tokens.get());
  std::string out;
  for (size_t i = 0; i < rill_tokens_size(tokens.get()); ++i) {
    if (options.ids_only) {
      out += (i > 0 ? " " : "") + std::to_string(ids[i]);
    } else {
      std::string id = std::to_string(ids[i]);
      id.insert(0, id.size() < 7 ? 7 - id.size() : 0, ' ');
      out += id + "  " + quoted_piece(tokenizer, ids[i]) + "\n";
    }
  }
  return write_stdout(options.ids_only ? out + "\n" : out);
}

int print_text(const TokenizeOptions& options, std::string text, const rill_tokenizer* tokenizer) {
  for (char& c : text) {
    if (c == ',' || c == '[' || c == ']') c = ' ';
  }
  std::istringstream stream(text);
  std::vector<int32_t> ids;
  for (std::string word; stream >> word;) {
    int32_t id = 0;
    if (!CLI::detail::lexical_cast(word, id))
      return report(kExitUsage, "tokenize: --decode: got '" + word + "', expected token ids");
    ids.push_back(id);
  }
  ErrorSlot error;
  StringHandle decoded;
  const rill_status status = rill_detokenize(tokenizer, ids.data(), ids.size(),
                                             options.no_special ? 1 : 0, Out(decoded), error.out());
  if (status != RILL_OK) return report(status, error);
  return write_stdout({rill_string_data(decoded.get()), rill_string_size(decoded.get())});
}

int tokenize(const TokenizeOptions& options) {
  TokenizerHandle tokenizer;
  std::string text;
  for (const std::string& word : options.words) text += (text.empty() ? "" : " ") + word;
  int exit_code = open_tokenizer(options, tokenizer);
  if (exit_code == kExitOk && (text.empty() || text == "-")) exit_code = read_input("-", text);
  if (exit_code != kExitOk) return exit_code;
  return options.decode ? print_text(options, text, tokenizer.get())
                        : print_tokens(options, text, tokenizer.get());
}

}  // namespace

void add_tokenize_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Text to token ids, and back");
  command->add_option("TEXT", options->words, "The text, or ids; - or none reads standard input");
  add_model_choice(
      *command, options->model,
      "GGUF file, package, directory with tokenizer.json, or a name of 'rill models list'");
  with_env(command->add_flag("--ids", options->ids_only, "Print the ids alone, on one line"));
  with_env(command->add_flag("--no-bos", options->no_bos,
                             "No beginning-of-text token in front, whatever the file says"));
  with_env(command->add_flag("--no-special", options->no_special,
                             "Special tokens count as plain text; with --decode: leave them out"));
  with_env(command->add_flag("--decode", options->decode, "Ids to text"));
  command->footer(
      "Example:\n"
      "  rill tokenize -m LFM2.5-350M-Q4_0.gguf \"Hello world\"\n"
      "  rill tokenize -m LFM2.5-350M-Q4_0.gguf --decode 1 2 3");
  command->callback([options, &exit_code] { exit_code = tokenize(*options); });
}

}  // namespace rill::cli
