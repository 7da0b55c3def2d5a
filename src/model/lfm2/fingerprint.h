// SPDX-License-Identifier: Apache-2.0
// Fingerprint: 32 bytes that tell one model from another, so that a saved state is never continued
// by the wrong one.
#pragma once

#include <array>
#include <cstdint>

#include "model/lfm2/config.h"
#include "model/lfm2/weights.h"

namespace rill::model::lfm2 {

using Fingerprint = std::array<uint8_t, 32>;

/// SHA-256 over what the arithmetic depends on: the sizes and switches of the configuration, type
/// and shape of every matrix, every norm, bias and convolution weight, and a sample of each
/// matrix's values (four rows, up to 256 values of each). Not covered: values between the samples,
/// the context length, names and file layout.
/// The same for packed and borrowed weights, on every kernel tier, from GGUF and from safetensors
/// of the same types; another one for another quantization.
/// Cost: four rows of each matrix are read, at most 4 KB of it hashed.
[[nodiscard]] Fingerprint fingerprint(const Config& config, const Weights& weights);

}  // namespace rill::model::lfm2
