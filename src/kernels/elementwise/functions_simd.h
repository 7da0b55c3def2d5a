// SPDX-License-Identifier: Apache-2.0
// The functions of functions_scalar.h, step by step the same, for 16 values at a time.
// Include a vec_<tier>.h first.
#pragma once

#include "kernels/elementwise/functions_scalar.h"

namespace rill::kernels {
namespace {

struct ExpPartsVec {
  Vec p;
  Vec p_low;
  Power power;
};

RILL_INLINE ExpPartsVec exp_parts(Vec x) {
  // Constant first: a NaN in x is then the result.
  x = max(set1(kExpMin), x);
  x = min(set1(kExpMax), x);
  const Vec t = fma(x, set1(kLog2E), set1(kRoundMagic));
  const Vec n = sub(t, set1(kRoundMagic));
  Vec r = fnma(n, set1(kLn2High), x);
  r = fnma(n, set1(kLn2Low), r);
  Vec q = fma(set1(kExp6), r, set1(kExp5));
  q = fma(q, r, set1(kExp4));
  q = fma(q, r, set1(kExp3));
  q = fma(q, r, set1(kExp2));
  q = fma(q, mul(r, r), r);
  ExpPartsVec e;
  e.p = add(set1(1.0f), q);
  e.p_low = sub(q, sub(e.p, set1(1.0f)));
  e.power = power_of_two(n, t, kRoundMagicBits);
  return e;
}

RILL_INLINE Vec exp(Vec x) {
  const ExpPartsVec e = exp_parts(x);
  return times(e.p, e.power);
}

RILL_INLINE Vec sigmoid(Vec x) {
  const ExpPartsVec e = exp_parts(negative_abs(x));
  const Vec one = set1(1.0f);
  const Vec z = times(e.p, e.power);
  const Vec z_low = times(e.p_low, e.power);
  const Vec d = add(one, z);
  const Vec d_low = add(sub(z, sub(d, one)), z_low);
  const Vec numerator = where_negative(x, z, one);
  const Vec numerator_low = where_negative(x, z_low, zero());
  const Vec inverse = div(one, d);
  const Vec y = mul(numerator, inverse);
  Vec rest = fnma(y, d, numerator);
  rest = add(rest, fnma(y, d_low, numerator_low));
  return fma(rest, inverse, y);
}

RILL_INLINE Vec silu(Vec x) { return mul(x, sigmoid(x)); }

}  // namespace
}  // namespace rill::kernels
