// SPDX-License-Identifier: Apache-2.0
// Subjects of a text set that need no model: block formats, single operations, the tokenizer.
#pragma once

#include <string>

#include "verify/verify.h"

namespace rill::verify {

/// vectors/quant_blocks: dequantization of each type, and quantization where the set has it; bit
/// for bit.
void verify_quant_blocks(Run& run, const std::string& name, Report& report);
/// vectors/ops: rope tables and rotations, RMSNorm, expert routing.
void verify_ops(Run& run, const std::string& name, Report& report);
/// tokenizer/: every case of cases.json on every tokenizer file there.
void verify_tokenizer(Run& run, const std::string& name, Report& report);
/// chat_cases.json: prompts of the built-in chat templates.
void verify_chat_cases(Run& run, const std::string& name, Report& report);

}  // namespace rill::verify
