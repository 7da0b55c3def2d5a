// SPDX-License-Identifier: Apache-2.0
#include "audio/fft.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<double> signal_of(size_t size) {
  std::vector<double> out;
  for (const float s : test::noise(size, 7)) out.push_back(static_cast<double>(s));
  return out;
}

const std::vector<size_t> kSizes = {2, 4, 6, 8, 10, 12, 30, 64, 90, 250, 486, 512, 1280};

TEST(RealFft, EqualsTheDefinition) {
  for (const size_t size : kSizes) {
    auto fft = RealFft::create(size);
    ASSERT_TRUE(fft) << fft.error().message;
    const std::vector<double> signal = signal_of(size);
    std::vector<Complex> spectrum(fft->num_bins());
    RealFft::Work work;
    fft->forward(signal, work, spectrum);
    for (size_t k = 0; k < spectrum.size(); ++k) {
      long double re = 0.0L;
      long double im = 0.0L;
      for (size_t n = 0; n < size; ++n) {
        const long double angle = 2.0L * 3.14159265358979323846264338328L *
                                  static_cast<long double>((k * n) % size) /
                                  static_cast<long double>(size);
        re += static_cast<long double>(signal[n]) * std::cos(angle);
        im -= static_cast<long double>(signal[n]) * std::sin(angle);
      }
      ASSERT_NEAR(spectrum[k].re, static_cast<double>(re), 1e-13 * static_cast<double>(size))
          << size << ", bin " << k;
      ASSERT_NEAR(spectrum[k].im, static_cast<double>(im), 1e-13 * static_cast<double>(size))
          << size << ", bin " << k;
    }
  }
}

TEST(RealFft, InverseUndoesForward) {
  for (const size_t size : kSizes) {
    auto fft = RealFft::create(size);
    ASSERT_TRUE(fft);
    const std::vector<double> signal = signal_of(size);
    std::vector<Complex> spectrum(fft->num_bins());
    std::vector<double> back(size);
    RealFft::Work work;
    fft->forward(signal, work, spectrum);
    fft->inverse(spectrum, work, back);
    for (size_t n = 0; n < size; ++n) ASSERT_NEAR(back[n], signal[n], 1e-14) << size;
  }
}

TEST(RealFft, InverseIgnoresImaginaryPartsOfTheEdges) {
  auto fft = RealFft::create(1280);
  ASSERT_TRUE(fft);
  std::vector<Complex> spectrum(641, Complex{0.5, -0.25});
  RealFft::Work work;
  std::vector<double> with(1280);
  std::vector<double> without(1280);
  fft->inverse(spectrum, work, with);
  spectrum.front().im = 0.0;
  spectrum.back().im = 0.0;
  fft->inverse(spectrum, work, without);
  EXPECT_EQ(with, without);
}

TEST(RealFft, FindsATone) {
  auto fft = RealFft::create(512);
  ASSERT_TRUE(fft);
  std::vector<double> signal(512);
  for (size_t n = 0; n < 512; ++n)
    signal[n] = std::cos(2.0 * kPi * 20.0 * static_cast<double>(n) / 512.0);
  std::vector<Complex> spectrum(257);
  RealFft::Work work;
  fft->forward(signal, work, spectrum);
  for (size_t k = 0; k < 257; ++k)
    EXPECT_NEAR(std::hypot(spectrum[k].re, spectrum[k].im), k == 20 ? 256.0 : 0.0, 1e-10);
}

TEST(RealFft, RefusesSizesItCannotSplit) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{3}, size_t{14}, size_t{22}, size_t{1282},
                            RealFft::kMaxSize * 2}) {
    auto fft = RealFft::create(size);
    ASSERT_FALSE(fft) << size;
    EXPECT_EQ(fft.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace rill::audio
