// SPDX-License-Identifier: Apache-2.0
// The encoder and the adapter, stage by stage, against the reference implementation on a tiny
// model.
#include <cmath>
#include <cstring>

#include "audio_support.h"
#include "model/conformer/config.h"
#include "support/recorded_bits.h"

namespace rill::audio_test {
namespace {

constexpr double kTolerance = 5e-6;

/// The stages of a clip that the reference recorded, and no others.
void expect_stages(const Recorder& recorder, const std::string& clip) {
  const AudioVectors vectors("encoder");
  size_t compared = 0;
  for (const NamedTensor& tensor : vectors.all()) {
    if (!tensor.name.starts_with(clip + ".")) continue;
    const std::string stage = tensor.name.substr(clip.size() + 1);
    const auto found = recorder.stages.find(stage);
    ASSERT_NE(found, recorder.stages.end()) << stage;
    const bool image = stage.starts_with("conv.");
    const std::vector<float> want =
        image ? vectors.channels_last(tensor.name) : vectors.floats(tensor.name);
    EXPECT_LT(relative_rms(found->second, want), kTolerance) << clip << " " << stage;
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

TEST(AudioEncoder, EveryStageEqualsTheReference) {
  Compute compute;
  const auto model = load_package("F16", compute);
  for (const std::string clip : {"clip_hello", "burst_16k", "silence_16k"}) {
    const Tensor mel = features(clip);
    Tensor out =
        make_tensor(model::conformer::num_steps(mel.rows()), model->adapter().output_size());
    Recorder recorder;
    ASSERT_TRUE(model->embed_speech(compute.context, mel.mat(), out.mat(), &recorder.trace));
    expect_stages(recorder, clip);
  }
}

TEST(AudioEncoder, AdapterRowsEqualTheReferenceWithoutTrace) {
  Compute compute;
  const auto model = load_package("F16", compute);
  const AudioVectors vectors("encoder");
  for (const std::string clip : {"clip_hello", "clip_fox", "clip_ja", "tone_16k"}) {
    const Tensor mel = features(clip);
    Tensor out =
        make_tensor(model::conformer::num_steps(mel.rows()), model->adapter().output_size());
    ASSERT_TRUE(model->embed_speech(compute.context, mel.mat(), out.mat()));
    EXPECT_LT(relative_rms(copy_of(out.mat()), vectors.floats(clip + ".adapter")), kTolerance)
        << clip;
  }
}

/// A clip long enough for several blocks of the subsampling, repeated from a short one.
Tensor long_features(size_t frames) {
  const Tensor mel = features("clip_fox");
  Tensor out = make_tensor(frames, mel.cols());
  for (size_t f = 0; f < frames; ++f) {
    std::memcpy(out.mat().row(f), mel.mat().row((f * 7) % mel.rows()), mel.cols() * sizeof(float));
  }
  return out;
}

std::vector<float> embed(const model::lfm2_audio::Model& model, Compute& compute, ConstMat mel,
                         const Trace* trace = nullptr) {
  Tensor out = make_tensor(model::conformer::num_steps(mel.rows), model.adapter().output_size());
  EXPECT_TRUE(model.embed_speech(compute.context, mel, out.mat(), trace));
  return copy_of(out.mat());
}

TEST(AudioEncoder, BlocksOfTheSubsamplingDoNotShow) {
  Compute compute;
  const auto model = load_package("F16", compute);
  // One block (with a trace) against several, at every alignment of the clip's end.
  for (const size_t frames : {255u, 257u, 258u, 261u, 520u}) {
    const Tensor mel = long_features(frames);
    Recorder recorder;
    EXPECT_EQ(embed(*model, compute, mel.mat(), &recorder.trace), embed(*model, compute, mel.mat()))
        << frames;
  }
}

TEST(AudioEncoder, ThreadsAndPackingDoNotChangeABit) {
  Compute one(1);
  model::lfm2_audio::LoadOptions unpacked;
  unpacked.repack = false;
  for (const std::string quantization : {"F16", "Q4_0"}) {
    const auto model = load_package(quantization, one);
    const auto borrowed = load_package(quantization, one, unpacked);
    const Tensor mel = long_features(265);
    const std::vector<float> want = embed(*model, one, mel.mat());
    EXPECT_EQ(embed(*borrowed, one, mel.mat()), want) << quantization;
    for (const size_t threads : {2u, 3u, 8u}) {
      Compute many(threads);
      EXPECT_EQ(embed(*model, many, mel.mat()), want) << quantization << " " << threads;
    }
  }
}

TEST(AudioEncoder, EveryTierGivesTheRecordedBits) {
  Compute compute;
  for (const std::string quantization : {"F16", "Q4_0"}) {
    const auto model = load_package(quantization, compute);
    for (const std::string clip : {"clip_hello", "clip_fox", "clip_ja"}) {
      test::expect_recorded_bits("audio.encoder." + quantization + "." + clip,
                                 embed(*model, compute, features(clip).mat()));
    }
    // Several blocks of the subsampling.
    test::expect_recorded_bits("audio.encoder." + quantization + ".long",
                               embed(*model, compute, long_features(521).mat()));
  }
}

TEST(AudioEncoder, ShortClipsGiveFiniteRows) {
  Compute compute;
  const auto model = load_package("F16", compute);
  for (size_t frames = 0; frames <= 17; ++frames) {
    const std::vector<float> rows = embed(*model, compute, long_features(frames).mat());
    EXPECT_EQ(rows.size(), model::conformer::num_steps(frames) * model->adapter().output_size());
    for (const float value : rows) ASSERT_TRUE(std::isfinite(value)) << frames;
  }
}

TEST(AudioEncoder, ScratchGrowsSlowlyWithTheClip) {
  Compute compute;
  const auto model = load_package("F16", compute);
  embed(*model, compute, long_features(1001).mat());
  const size_t short_bytes = compute.arena.reserved_bytes();
  compute.arena.release();
  embed(*model, compute, long_features(2001).mat());
  // Twice the clip: at most twice the memory, whatever the fixed part is.
  EXPECT_LE(compute.arena.reserved_bytes(), 2 * short_bytes + (size_t{1} << 20));
}

}  // namespace
}  // namespace rill::audio_test
