// SPDX-License-Identifier: Apache-2.0
// Restores saved states with some of their bytes changed and, if they are accepted, runs a step.
// The first byte chooses what is saved and whether the hash is made right again after the changes;
// then follow (u16 offset, u8 value) patches, or with bit 2 the bytes of the file themselves.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/sha256.h"
#include "session/snapshot.h"
#include "unit/model/lfm2_support.h"

namespace {

using namespace rill;
using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::TinySpec;
using Bytes = std::vector<std::byte>;

TinySpec small() {
  TinySpec spec;
  spec.layers = "ca";
  spec.D = 8;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.I = 8;
  spec.vocab = 8;
  spec.context = 300;
  return spec;
}

Bytes saved(Compute& compute, const model::lfm2::Backbone& backbone, size_t steps, bool generates) {
  auto sequence = session::Sequence::create(backbone, DType::kF16);
  const auto tokens = lfm2_test::some_tokens(steps, 8);
  if (!sequence || !sequence->append_tokens(compute.context, tokens)) return {};
  session::GenerationState state;
  state.pending = 3;
  state.sampler.window = {1, 2, 1};
  state.sampler.seen = {{1, 2}, {2, 1}};
  state.sampler.replied = {{4, 1}};
  const auto bytes = session::save_snapshot(*sequence, generates ? &state : nullptr, {});
  if (!bytes) return {};
  return Bytes(bytes->data(), bytes->data() + bytes->size_bytes());
}

void seal(Bytes& bytes) {
  if (bytes.size() < 32) return;
  Sha256 hash;
  hash.update(std::span(bytes).first(bytes.size() - 32));
  const auto digest = hash.finish();
  std::memcpy(bytes.data() + bytes.size() - 32, digest.data(), 32);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static Compute compute(1);
  static const LoadedTiny tiny(small(), compute);
  static const Bytes files[] = {saved(compute, *tiny.backbone, 3, false),
                                saved(compute, *tiny.backbone, 260, true)};
  Bytes bytes = files[data[0] & 1];
  if ((data[0] & 4) != 0) {
    bytes.resize(size - 1);
    if (size > 1) std::memcpy(bytes.data(), data + 1, size - 1);
  } else {
    for (size_t i = 1; i + 3 <= size; i += 3) {
      const size_t offset = data[i] | static_cast<size_t>(data[i + 1]) << 8;
      if (offset < bytes.size()) bytes[offset] = static_cast<std::byte>(data[i + 2]);
    }
  }
  if ((data[0] & 2) != 0) seal(bytes);
  auto snapshot = session::restore_snapshot(*tiny.backbone, bytes, {}, "fuzz.state");
  if (!snapshot) return 0;
  if (snapshot->generation) {
    session::SamplerOptions options;
    options.repetition_penalty = 1.1f;
    options.repetition_window = (data[0] & 8) != 0 ? 4 : 0;
    options.presence_penalty = 0.5f;
    session::Sampler sampler(options);
    (void)sampler.restore(snapshot->generation->sampler).has_value();
    for (int32_t token = 0; token < 6; ++token) sampler.observe_reply(token);
    const std::vector<float> logits(8, 0.0f);
    (void)sampler.pick(logits).has_value();
  }
  (void)snapshot->sequence.append_token(compute.context, 1).has_value();
  return 0;
}
