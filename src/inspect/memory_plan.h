// SPDX-License-Identifier: Apache-2.0
// How much memory a model takes and how much work a token is, from the metadata and the tensor
// tables alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "format/gguf.h"
#include "model/lfm2/config.h"
#include "tensor/dtype.h"

namespace rill::inspect {

/// What is planned.
struct PlanOptions {
  size_t context = 0;                 ///< tokens of each sequence, at least 1
  size_t batch = 1;                   ///< sequences that are decoded together, at least 1
  std::optional<DType> kv_type = {};  ///< F32 or F16; without it F16, for speech packages F32
};

/// Reads "ctx=32768,batch=2,kv=f16"; ctx is needed, the others have defaults.
/// Errors: kInvalidArgument, naming the part.
Result<PlanOptions> parse_plan_options(std::string_view text);

/// Bytes that a file's tensors take once they are loaded: packed, or widened where the forward pass
/// wants F32.
[[nodiscard]] size_t loaded_bytes(const format::GgufFile& file);

/// Bytes of the largest moment of a forward pass over `rows` steps of `batch` sequences, on
/// `threads` threads.
[[nodiscard]] size_t activation_bytes(const model::lfm2::Config& config, size_t rows, size_t batch,
                                      size_t threads);

/// The plan of a GGUF file with a text model or a backbone, or of a package directory. Keys:
/// docs/cli.md. Errors: those of GgufFile::open and config_from_gguf; kInvalidArgument (a context
/// that the model does not have).
Result<Json> plan_path(const std::string& path, const PlanOptions& options, size_t threads);

/// A short plan for the report of rill inspect: bytes for weights and for the state of a sequence
/// at some lengths; files that hold no layer stack get their weights alone.
[[nodiscard]] Json memory_plan(const format::GgufFile& file);

}  // namespace rill::inspect
