// SPDX-License-Identifier: Apache-2.0
#include "audio/fft.h"

#include <array>

#include "base/check.h"
#include "base/det_math.h"
#include "base/str_cat.h"

namespace rill::audio {
namespace {

Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex operator*(double s, Complex a) { return {s * a.re, s * a.im}; }
Complex conj(Complex a) { return {a.re, -a.im}; }
Complex times_minus_i(Complex a) { return {a.im, -a.re}; }

void small_dft(std::array<Complex, 2>& x) { x = {x[0] + x[1], x[0] - x[1]}; }

void small_dft(std::array<Complex, 3>& x) {
  constexpr double kSin60 = 0.86602540378443864676;
  const Complex sum = x[1] + x[2];
  const Complex side = x[0] - 0.5 * sum;
  const Complex turn = times_minus_i(kSin60 * (x[1] - x[2]));
  x = {x[0] + sum, side + turn, side - turn};
}

void small_dft(std::array<Complex, 4>& x) {
  const Complex a = x[0] + x[2];
  const Complex b = x[0] - x[2];
  const Complex c = x[1] + x[3];
  const Complex d = times_minus_i(x[1] - x[3]);
  x = {a + c, b + d, a - c, b - d};
}

void small_dft(std::array<Complex, 5>& x) {
  constexpr double kCos72 = 0.30901699437494742410;
  constexpr double kCos144 = -0.80901699437494742410;
  constexpr double kSin72 = 0.95105651629515357212;
  constexpr double kSin144 = 0.58778525229247312917;
  const Complex s1 = x[1] + x[4];
  const Complex d1 = x[1] - x[4];
  const Complex s2 = x[2] + x[3];
  const Complex d2 = x[2] - x[3];
  const Complex a = x[0] + kCos72 * s1 + kCos144 * s2;
  const Complex b = x[0] + kCos144 * s1 + kCos72 * s2;
  const Complex u = times_minus_i(kSin72 * d1 + kSin144 * d2);
  const Complex v = times_minus_i(kSin144 * d1 - kSin72 * d2);
  x = {x[0] + s1 + s2, a + u, b + v, b - v, a - u};
}

// One pass of the Stockham transform (decimation in frequency): `length` is what is left to split
// by R, `stride` the product of the factors done. roots are those of length * stride.
template <size_t R>
void pass(const Complex* in, size_t length, size_t stride, const Complex* roots, Complex* out) {
  const size_t part = length / R;
  for (size_t p = 0; p < part; ++p) {
    for (size_t q = 0; q < stride; ++q) {
      std::array<Complex, R> x;
      for (size_t k = 0; k < R; ++k) x[k] = in[q + stride * (p + part * k)];
      small_dft(x);
      Complex* to = out + q + stride * R * p;
      to[0] = x[0];
      for (size_t k = 1; k < R; ++k) to[stride * k] = x[k] * roots[p * k * stride];
    }
  }
}

std::vector<Complex> make_roots(size_t size, size_t count) {
  std::vector<Complex> roots(count);
  for (size_t k = 0; k < count; ++k) {
    const double angle = 2.0 * det::kPi * static_cast<double>(k) / static_cast<double>(size);
    roots[k] = {det::cos(angle), -det::sin(angle)};
  }
  return roots;
}

bool has_small_factors(size_t n) {
  for (const size_t f : {size_t{2}, size_t{3}, size_t{5}}) {
    while (n % f == 0) n /= f;
  }
  return n == 1;
}

}  // namespace

Result<RealFft> RealFft::create(size_t size) {
  if (size == 0 || size % 2 != 0 || size > kMaxSize || !has_small_factors(size)) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("fft: got size ", size, ", expected an even number up to ", kMaxSize,
                     " without prime factors above 5")};
  }
  return RealFft(size);
}

RealFft::RealFft(size_t size)
    : size_(size),
      half_roots_(make_roots(size / 2, size / 2)),
      roots_(make_roots(size, size / 2 + 1)) {
  size_t rest = size / 2;
  for (const size_t factor : {size_t{4}, size_t{2}, size_t{3}, size_t{5}}) {
    for (; rest % factor == 0; rest /= factor) factors_.push_back(factor);
  }
}

void RealFft::transform(Work& work) const {
  size_t length = size_ / 2;
  size_t stride = 1;
  work.b.resize(length);
  for (const size_t factor : factors_) {
    const Complex* in = work.a.data();
    Complex* out = work.b.data();
    switch (factor) {
      case 2:
        pass<2>(in, length, stride, half_roots_.data(), out);
        break;
      case 3:
        pass<3>(in, length, stride, half_roots_.data(), out);
        break;
      case 4:
        pass<4>(in, length, stride, half_roots_.data(), out);
        break;
      default:
        pass<5>(in, length, stride, half_roots_.data(), out);
        break;
    }
    length /= factor;
    stride *= factor;
    work.a.swap(work.b);
  }
}

void RealFft::forward(std::span<const double> signal, Work& work,
                      std::span<Complex> spectrum) const {
  RILL_CHECK(signal.size() == size_ && spectrum.size() == num_bins(), "fft: sizes disagree");
  // Even samples as real parts, odd ones as imaginary parts: half the work.
  const size_t half = size_ / 2;
  work.a.resize(half);
  for (size_t n = 0; n < half; ++n) work.a[n] = {signal[2 * n], signal[2 * n + 1]};
  transform(work);
  for (size_t k = 0; k <= half; ++k) {
    const Complex a = work.a[k % half];
    const Complex b = conj(work.a[(half - k) % half]);
    spectrum[k] = 0.5 * (a + b) + roots_[k] * times_minus_i(0.5 * (a - b));
  }
}

void RealFft::inverse(std::span<const Complex> spectrum, Work& work,
                      std::span<double> signal) const {
  RILL_CHECK(signal.size() == size_ && spectrum.size() == num_bins(), "fft: sizes disagree");
  const size_t half = size_ / 2;
  work.a.resize(half);
  for (size_t k = 0; k < half; ++k) {
    const Complex x = k == 0 ? Complex{spectrum[0].re, 0.0} : spectrum[k];
    const Complex y = k == 0 ? Complex{spectrum[half].re, 0.0} : conj(spectrum[half - k]);
    const Complex even = x + y;
    const Complex odd = conj(roots_[k]) * (x - y);
    // even + i * odd, with real and imaginary parts swapped: a forward transform of swapped values
    // is an inverse one.
    work.a[k] = {even.im + odd.re, even.re - odd.im};
  }
  transform(work);
  const double scale = 1.0 / static_cast<double>(size_);
  for (size_t n = 0; n < half; ++n) {
    signal[2 * n] = work.a[n].im * scale;
    signal[2 * n + 1] = work.a[n].re * scale;
  }
}

}  // namespace rill::audio
