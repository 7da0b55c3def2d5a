// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "session/generator.h"
#include "session/snapshot_format.h"
#include "support/test_data.h"
#include "unit/model/lfm2_support.h"

namespace rill::session {
namespace {

using lfm2_test::Backbone;
using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

using Bytes = std::vector<std::byte>;

Sequence make(const Backbone& backbone, DType kv_type) {
  auto created = Sequence::create(backbone, kv_type);
  RILL_CHECK(created.has_value(), "sequence");
  return std::move(created).value();
}

Bytes saved(const Sequence& sequence, const GenerationState* generation = nullptr,
            const SnapshotOptions& options = {}) {
  const auto bytes = save_snapshot(sequence, generation, options);
  EXPECT_TRUE(bytes.has_value()) << (bytes ? "" : bytes.error().message);
  if (!bytes) return {};
  return Bytes(bytes->data(), bytes->data() + bytes->size_bytes());
}

/// Makes the hash at the end right again.
void seal(Bytes& bytes) {
  Sha256 hash;
  hash.update(std::span(bytes).first(bytes.size() - 32));
  const auto digest = hash.finish();
  std::memcpy(bytes.data() + bytes.size() - 32, digest.data(), 32);
}

SamplerOptions counting(float penalty, size_t window) {
  SamplerOptions options;
  options.repetition_penalty = penalty;
  options.repetition_window = window;
  return options;
}

class SnapshotTest : public testing::Test {
 protected:
  void append(Sequence& sequence, std::span<const int32_t> tokens) {
    ASSERT_TRUE(sequence.append_tokens(compute_.context, tokens));
  }
  std::vector<float> logits(Sequence& sequence) {
    const auto values = sequence.logits(compute_.context);
    return values ? std::vector<float>(values->begin(), values->end()) : std::vector<float>();
  }
  Sequence restored(const Backbone& backbone, std::span<const std::byte> bytes) {
    auto snapshot = restore_snapshot(backbone, bytes, {});
    EXPECT_TRUE(snapshot.has_value()) << (snapshot ? "" : snapshot.error().message);
    RILL_CHECK(snapshot.has_value(), "snapshot");
    return std::move(snapshot->sequence);
  }
  /// The error of restoring bytes.
  Error refusal(std::span<const std::byte> bytes, const SnapshotOptions& options = {}) {
    const auto snapshot = restore_snapshot(*tiny_.backbone, bytes, options, "a.state");
    EXPECT_FALSE(snapshot.has_value());
    return snapshot ? Error{} : snapshot.error();
  }
  Bytes example() {
    Sequence sequence = make(*tiny_.backbone, DType::kF32);
    append(sequence, some_tokens(5, 64));
    return saved(sequence);
  }

  Compute compute_;
  LoadedTiny tiny_{TinySpec{.context = 700}, compute_};
};

TEST_F(SnapshotTest, ContinuesWithTheBitsOfAnUninterruptedRun) {
  TinySpec sparse;
  sparse.experts = 4;
  sparse.context = 700;
  const LoadedTiny moe(sparse, compute_);
  for (const Backbone* backbone : {tiny_.backbone.get(), moe.backbone.get()}) {
    for (const DType kv_type : {DType::kF32, DType::kF16}) {
      for (const size_t length : {1, 2, 256, 300, 512}) {
        Sequence sequence = make(*backbone, kv_type);
        append(sequence, some_tokens(length, 64));
        Sequence later = restored(*backbone, saved(sequence));
        EXPECT_EQ(later.position(), length);
        EXPECT_EQ(later.content(), sequence.content());
        EXPECT_EQ(logits(later), logits(sequence)) << length;
        append(sequence, some_tokens(20, 64, 3));
        append(later, some_tokens(20, 64, 3));
        EXPECT_EQ(logits(later), logits(sequence)) << length;
        EXPECT_EQ(saved(later), saved(sequence)) << length;
      }
    }
  }
}

TEST_F(SnapshotTest, AnEmptySequenceIsAState) {
  Sequence later = restored(*tiny_.backbone, saved(make(*tiny_.backbone, DType::kF16)));
  EXPECT_EQ(later.position(), 0u);
  append(later, some_tokens(3, 64));
  Sequence fresh = make(*tiny_.backbone, DType::kF16);
  append(fresh, some_tokens(3, 64));
  EXPECT_EQ(logits(later), logits(fresh));
}

TEST_F(SnapshotTest, BytesDoNotDependOnWhatWasTruncated) {
  Sequence sequence = make(*tiny_.backbone, DType::kF32);
  append(sequence, some_tokens(5, 64));
  const Bytes want = saved(sequence);
  ASSERT_TRUE(sequence.keep_checkpoint());
  append(sequence, some_tokens(50, 64, 3));
  ASSERT_TRUE(sequence.truncate_to(5));
  EXPECT_EQ(saved(sequence), want);
}

TEST_F(SnapshotTest, AReplyContinuesWithItsOwnTokens) {
  GenerateOptions options;
  options.max_tokens = 30;
  options.sampler = counting(1.3f, 8);
  options.sampler.temperature = 1.0f;
  options.sampler.presence_penalty = 0.2f;
  options.sampler.frequency_penalty = 0.1f;
  options.sampler.seed = 3;
  Sequence sequence = make(*tiny_.backbone, DType::kF16);
  append(sequence, some_tokens(12, 64));
  Sequence whole = sequence.clone();
  const auto want = generate(compute_.context, whole, options);
  ASSERT_TRUE(want.has_value());

  std::vector<int32_t> tokens;
  Generator first(sequence, options);
  for (int i = 0; i < 11; ++i) tokens.push_back(**first.next(compute_.context));
  const GenerationState state = first.state();
  const Bytes bytes = saved(sequence, &state);
  auto snapshot = restore_snapshot(*tiny_.backbone, bytes, {});
  ASSERT_TRUE(snapshot.has_value() && snapshot->generation.has_value());
  Generator second(snapshot->sequence, options);
  ASSERT_TRUE(second.resume(*snapshot->generation));
  while (true) {
    const auto token = second.next(compute_.context);
    ASSERT_TRUE(token.has_value());
    if (!token->has_value()) break;
    tokens.push_back(**token);
  }
  EXPECT_EQ(second.stop_reason(), StopReason::kMaxTokens);
  EXPECT_EQ(tokens, want->tokens);
}

TEST_F(SnapshotTest, ASamplersHistoryMustFitItsOptions) {
  Sampler counted(counting(1.2f, 4));
  for (int32_t i = 0; i < 9; ++i) counted.observe_reply(i);
  Sampler narrow(counting(1.2f, 3));
  const Status status = narrow.restore(counted.history());
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message,
            "restore sampler: repetition_window: got a history of 4 tokens, expected at most 3");
  Sampler all(counting(1.2f, 0));
  all.observe_reply(1);
  EXPECT_FALSE(narrow.restore(all.history()).has_value());
  EXPECT_TRUE(counted.restore(counted.history()).has_value());
}

TEST_F(SnapshotTest, BelongsToItsModel) {
  const Bytes bytes = example();
  Compute compute(1);
  const LoadedTiny other({.I = 64, .context = 700}, compute);
  const auto refused = restore_snapshot(*other.backbone, bytes, {}, "a.state");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message.substr(0, 41), "restore state: a.state: model: got a stat");
}

TEST_F(SnapshotTest, ModelsAreToldApartByWhatTheyComputeOnly) {
  model::lfm2::LoadOptions options;
  options.form = model::lfm2::MatrixForm::kBorrowed;
  const LoadedTiny borrowed({.context = 700}, compute_, options);
  EXPECT_EQ(borrowed.backbone->fingerprint(), tiny_.backbone->fingerprint());
  const LoadedTiny longer({.context = 900}, compute_);
  EXPECT_EQ(longer.backbone->fingerprint(), tiny_.backbone->fingerprint());
  const LoadedTiny renamed({.context = 700, .final_norm = "output_norm.weight"}, compute_);
  EXPECT_EQ(renamed.backbone->fingerprint(), tiny_.backbone->fingerprint());
  lfm2_test::TinyModel other(TinySpec{.context = 700}, 2);
  const auto file = other.build();
  const auto loaded = model::lfm2::load_gguf(*file, {}, *compute_.pool);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_NE((*loaded)->fingerprint(), tiny_.backbone->fingerprint());
}

TEST_F(SnapshotTest, BelongsToItsTokenizer) {
  Sequence sequence = make(*tiny_.backbone, DType::kF32);
  append(sequence, some_tokens(5, 64));
  const Bytes bytes = saved(sequence, nullptr, {.tokenizer = "a", .kv_type = {}});
  const Error error = refusal(bytes, {.tokenizer = "b", .kv_type = {}});
  EXPECT_EQ(error.message.substr(0, 38), "restore state: a.state: tokenizer: got");
  EXPECT_TRUE(
      restore_snapshot(*tiny_.backbone, bytes, {.tokenizer = "a", .kv_type = {}}).has_value());
}

TEST_F(SnapshotTest, RefusesTheOtherKvTypeOnRequest) {
  const Error error = refusal(example(), {.tokenizer = {}, .kv_type = DType::kF16});
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "restore state: a.state: kv type: got F32, expected F16");
}

TEST_F(SnapshotTest, RefusesEveryTruncation) {
  const Bytes bytes = example();
  for (size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 97) {
    EXPECT_EQ(refusal(std::span(bytes).first(size)).code, ErrorCode::kInvalidFormat) << size;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(refusal(longer).message.substr(0, 34), "restore state: a.state: size: got ");
}

TEST_F(SnapshotTest, RefusesEveryFlippedByte) {
  Bytes bytes = example();
  for (size_t i = 0; i < bytes.size(); i += i < 200 ? 1 : 53) {
    bytes[i] ^= std::byte{0x40};
    (void)refusal(bytes);
    bytes[i] ^= std::byte{0x40};
  }
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_EQ(refusal(bytes).message.substr(0, 30), "restore state: a.state: hash: ");
}

TEST_F(SnapshotTest, NamesTheFieldThatDoesNotFit) {
  const Bytes good = example();
  struct Case {
    size_t offset;
    std::byte value;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {0, std::byte{'X'}, ErrorCode::kInvalidFormat, "magic: "},
      {8, std::byte{2}, ErrorCode::kUnsupported,
       "version: got 2, expected 1; save the state again with this version of rill"},
      {12, std::byte{3}, ErrorCode::kInvalidFormat, "kind: got 3, expected 1 (a sequence) or 2"},
      {120, std::byte{200}, ErrorCode::kInvalidFormat, "size: "},
      {112, std::byte{8}, ErrorCode::kInvalidFormat, "kv_bits: got 8, expected 32 or 16"},
      {112, std::byte{16}, ErrorCode::kInvalidFormat, "kv_step_bytes: got 256, expected 128"},
      {152, std::byte{1}, ErrorCode::kInvalidFormat, "size: "},
  };
  for (const Case& c : cases) {
    Bytes bytes = good;
    bytes[c.offset] = c.value;
    seal(bytes);
    const Error error = refusal(bytes);
    EXPECT_EQ(error.code, c.code) << c.message;
    const std::string want = std::string("restore state: a.state: ") + c.message;
    EXPECT_EQ(error.message.substr(0, want.size()), want);
  }
}

TEST_F(SnapshotTest, RefusesAStateThatIsLongerThanTheContext) {
  Sequence sequence = make(*tiny_.backbone, DType::kF16);
  append(sequence, some_tokens(40, 64));
  const LoadedTiny shorter({.context = 30}, compute_);
  const auto refused = restore_snapshot(*shorter.backbone, saved(sequence), {}, "a.state");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kContextFull);
  EXPECT_EQ(refused.error().message,
            "restore state: a.state: position: got 40, expected at most 30, the context length");
}

TEST_F(SnapshotTest, DoesNotSaveAFailedSequence) {
  Sequence sequence = make(*tiny_.backbone, DType::kF16);
  const std::vector<float> row(32, HUGE_VALF);
  const StepInput bad = StepInput::of_row(row);
  ASSERT_FALSE(sequence.append(compute_.context, {&bad, 1}).has_value());
  const auto bytes = save_snapshot(sequence, nullptr, {});
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(bytes.error().message,
            "save state: got a sequence whose last append failed or was cancelled, expected it to "
            "be truncated or reset first");
}

TEST_F(SnapshotTest, DoesNotSaveASlidingWindow) {
  const LoadedTiny windowed({.window = 30}, compute_);
  const auto bytes = save_snapshot(make(*windowed.backbone, DType::kF32), nullptr, {});
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().code, ErrorCode::kUnsupported);
}

TEST_F(SnapshotTest, FilesHoldTheSameBytes) {
  const std::string path = test::temp_path("snapshot.state");
  Sequence sequence = make(*tiny_.backbone, DType::kF16);
  append(sequence, some_tokens(300, 64));
  ASSERT_TRUE(save_snapshot_file(path, sequence, nullptr, {}));
  EXPECT_EQ(std::filesystem::file_size(path), saved(sequence).size());
  auto snapshot = restore_snapshot_file(*tiny_.backbone, path, {});
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(logits(snapshot->sequence), logits(sequence));
  std::filesystem::remove(path);
  const auto missing = restore_snapshot_file(*tiny_.backbone, path, {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(save_snapshot_file("/no/such/folder/a.state", sequence, nullptr, {}).error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rill::session
