// SPDX-License-Identifier: Apache-2.0
// The LFM2 layer stack, dense and sparse, under GGUF's names: a text model, the backbone of a
// speech model, or the stack inside the audio detokenizer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "convert/file_type.h"
#include "convert/output_tensor.h"
#include "convert/source_tensors.h"
#include "format/metadata.h"
#include "model/lfm2/config.h"

namespace rill::convert {

/// Adds general.architecture (first) and the architecture's own keys.
void add_stack_keys(const model::lfm2::Config& config, format::Metadata& metadata);

/// Adds every tensor of the stack. `prefix` is what its names start with in the source: "model." or
/// "lfm.". Norms, biases, convolution kernels and routers become F32, matrices `matrix`.
/// Errors: those of SourceTensors::take.
Status add_stack_tensors(const model::lfm2::Config& config, const std::string& prefix, DType matrix,
                         SourceTensors& source, std::vector<OutputTensor>& tensors);

/// The reasons why a tensor stays F32, as reports give them.
inline constexpr char kVectorNote[] = "norms, biases: small, and precision counts";
inline constexpr char kConvNote[] = "convolution kernel: computed in F32";
inline constexpr char kRouterNote[] = "router: rounding it would change which experts are chosen";

}  // namespace rill::convert
