// SPDX-License-Identifier: Apache-2.0
#include "verify/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/str_cat.h"

namespace rill::verify {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kMiss:
      return "miss";
    case Verdict::kNotBuilt:
      return "not built";
  }
  return "unknown";
}

double relative_rms(std::span<const float> got, std::span<const float> expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double difference = 0;
  double reference = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    const double d = static_cast<double>(got[i]) - static_cast<double>(expected[i]);
    difference += d * d;
    reference += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  if (got.empty()) return 0;
  if (reference == 0) return std::sqrt(difference / static_cast<double>(got.size()));
  return std::sqrt(difference / reference);
}

void Report::floats(std::string stage, std::span<const float> got, std::span<const float> expected,
                    double tolerance) {
  std::string note;
  if (got.size() != expected.size())
    note = cat("got ", got.size(), " values, expected ", expected.size());
  measured(std::move(stage), relative_rms(got, expected), tolerance, "relative RMS",
           std::move(note));
}

void Report::floats(std::string stage, ConstMat got, std::span<const float> expected,
                    double tolerance) {
  std::vector<float> contiguous;
  contiguous.reserve(got.rows * got.cols);
  for (size_t r = 0; r < got.rows; ++r)
    contiguous.insert(contiguous.end(), got.row(r), got.row(r) + got.cols);
  floats(std::move(stage), contiguous, expected, tolerance);
}

void Report::ids(std::string stage, std::span<const int32_t> got,
                 std::span<const int32_t> expected) {
  const size_t common = std::min(got.size(), expected.size());
  size_t count = std::max(got.size(), expected.size()) - common;
  for (size_t i = 0; i < common; ++i) count += got[i] != expected[i] ? 1 : 0;
  std::string note;
  if (count > 0)
    note = cat("got ", got.first(std::min<size_t>(got.size(), 8)), ", expected ",
               expected.first(std::min<size_t>(expected.size(), 8)));
  mismatches(std::move(stage), count, std::move(note));
}

void Report::mismatches(std::string stage, size_t count, std::string note) {
  measured(std::move(stage), static_cast<double>(count), 0, "mismatches", std::move(note));
}

void Report::measured(std::string stage, double error, double tolerance, std::string_view measure,
                      std::string note) {
  // Written so that a NaN is a miss.
  const Verdict verdict = error <= tolerance ? Verdict::kPass : Verdict::kMiss;
  add({subject_, std::move(stage), error, tolerance, measure, verdict, std::move(note)});
}

void Report::not_built(std::string stage, std::string note) {
  add({subject_, std::move(stage), 0, 0, "", Verdict::kNotBuilt, std::move(note)});
}

void Report::failed(std::string stage, std::string note) {
  add({subject_, std::move(stage), std::numeric_limits<double>::infinity(), 0, "", Verdict::kMiss,
       std::move(note)});
}

void Report::add(Row row) {
  ++rows_;
  if (row.verdict == Verdict::kMiss) ++misses_;
  sink_.row(sink_.user, row);
}

}  // namespace rill::verify
