// SPDX-License-Identifier: Apache-2.0
#include "audio/istft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/test_data.h"
#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

struct Reference {
  test::Vectors vectors{test::data_path("audio/istft.safetensors")};
  std::vector<float> head = vectors.floats("head");
  std::vector<float> window = vectors.floats("istft_window");
  std::vector<float> waveform = vectors.floats("waveform");

  [[nodiscard]] ConstMat rows(size_t begin, size_t count) const {
    return {head.data() + begin * 1282, count, 1282, 1282};
  }
};

std::vector<float> run(const Reference& reference, size_t num_rows, size_t piece) {
  auto stream = IstftStream::create(reference.window);
  EXPECT_TRUE(stream) << stream.error().message;
  std::vector<float> out;
  for (size_t r = 0; r < num_rows; r += piece) {
    EXPECT_TRUE(stream->push(reference.rows(r, std::min(piece, num_rows - r)), out));
  }
  stream->finish(out);
  return out;
}

TEST(IstftStream, MatchesTheReference) {
  const Reference reference;
  const std::vector<float> samples = run(reference, 66, 66);
  ASSERT_EQ(samples.size(), 66u * 320u);
  EXPECT_LT(test::relative_rms(samples, reference.waveform), 2e-6);
}

TEST(IstftStream, AnyCutGivesTheSameBits) {
  const Reference reference;
  const std::vector<float> whole = run(reference, 66, 66);
  for (const size_t piece : std::initializer_list<size_t>{1, 5, 6, 12})
    EXPECT_EQ(run(reference, 66, piece), whole) << piece;
}

TEST(IstftStream, ThreadsGiveTheSameBits) {
  const Reference reference;
  auto pool = ThreadPool::create(3).value();
  auto stream = IstftStream::create(reference.window);
  ASSERT_TRUE(stream);
  std::vector<float> out;
  EXPECT_TRUE(stream->push(reference.rows(0, 66), out, pool.get()));
  stream->finish(out);
  EXPECT_EQ(out, run(reference, 66, 66));
}

TEST(IstftStream, RowsBeforeABadOneCount) {
  const Reference reference;
  std::vector<float> rows(reference.head.begin(), reference.head.begin() + 12 * 1282);
  rows[10 * 1282 + 3] = std::numeric_limits<float>::quiet_NaN();
  auto stream = IstftStream::create(reference.window);
  ASSERT_TRUE(stream);
  std::vector<float> out;
  const Status status = stream->push({rows.data(), 12, 1282, 1282}, out);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("row 10"), std::string::npos) << status.error().message;
  EXPECT_EQ(out.size(), 10u * 320u - 480u);
}

TEST(IstftStream, ReleasesSamplesAsSoonAsTheyAreFinal) {
  const Reference reference;
  auto stream = IstftStream::create(reference.window);
  ASSERT_TRUE(stream);
  std::vector<float> out;
  for (size_t r = 0; r < 12; ++r) {
    ASSERT_TRUE(stream->push(reference.rows(r, 1), out));
    const size_t expected = 320 * (r + 1) > 480 ? 320 * (r + 1) - 480 : 0;
    EXPECT_EQ(out.size(), expected) << r;
  }
  stream->finish(out);
  EXPECT_EQ(out.size(), 12u * 320u);
}

TEST(IstftStream, GivesHopSamplesPerRowForAnyNumberOfRows) {
  const Reference reference;
  EXPECT_TRUE(run(reference, 0, 1).empty());
  for (const size_t rows : std::initializer_list<size_t>{1, 2, 3, 4, 5}) {
    const std::vector<float> samples = run(reference, rows, 2);
    EXPECT_EQ(samples.size(), rows * 320);
    for (const float s : samples) ASSERT_TRUE(std::isfinite(s));
  }
}

TEST(IstftStream, DoesNotClampLargeMagnitudes) {
  const Reference reference;
  std::vector<float> row(1282, -100.0f);
  std::fill(row.begin() + 641, row.end(), 0.0f);
  row[10] = std::log(500.0f);
  auto stream = IstftStream::create(reference.window);
  ASSERT_TRUE(stream);
  std::vector<float> out;
  ASSERT_TRUE(stream->push({row.data(), 1, 1282, 1282}, out));
  stream->finish(out);
  float largest = 0.0f;
  for (const float s : out) largest = std::max(largest, std::fabs(s));
  EXPECT_NEAR(largest, 2.0f * 500.0f / 1280.0f, 0.25f);
}

TEST(IstftStream, NamesTheRowThatIsNoNumber) {
  const Reference reference;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e10f}) {
    for (const size_t column : std::initializer_list<size_t>{0, 700}) {
      std::vector<float> rows(reference.head.begin(), reference.head.begin() + 3 * 1282);
      rows[2 * 1282 + column] = bad;
      auto stream = IstftStream::create(reference.window);
      ASSERT_TRUE(stream);
      std::vector<float> out;
      auto status = stream->push({rows.data(), 3, 1282, 1282}, out);
      ASSERT_FALSE(status);
      EXPECT_NE(status.error().message.find("row 2"), std::string::npos) << status.error().message;
      EXPECT_EQ(out.size(), 160u);
    }
  }
}

TEST(IstftStream, RefusesWindowsItCannotDivideBy) {
  const Reference reference;
  std::vector<float> window = reference.window;
  window[640] = 0.0f;
  auto zero = IstftStream::create(window);
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().code, ErrorCode::kInvalidFormat);
  EXPECT_NE(zero.error().message.find("value 640"), std::string::npos);
  window[640] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(IstftStream::create(window));
  EXPECT_FALSE(IstftStream::create(std::vector<float>(1282, 1.0f)));
  EXPECT_FALSE(IstftStream::create(std::vector<float>()));
  EXPECT_FALSE(IstftStream::create(reference.window, 1281));
}

}  // namespace
}  // namespace rill::audio
