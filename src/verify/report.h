// SPDX-License-Identifier: Apache-2.0
// Report: the rows of a verification run, and the comparisons that produce them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace rill::verify {

enum class Verdict {
  kPass,
  kMiss,
  kNotBuilt,  ///< this build cannot run it
};

/// "pass", "miss", "not built".
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

/// One stage of one subject.
struct Row {
  std::string subject;
  std::string stage;
  double worst_error = 0;
  double tolerance = 0;
  std::string_view measure;  ///< what worst_error counts
  Verdict verdict = Verdict::kPass;
  std::string note;
};

/// Where rows go as they are produced.
struct RowSink {
  void (*row)(void* user, const Row& row) = nullptr;
  void* user = nullptr;
};

/// RMS of (got - expected) over RMS of expected; where expected is all zeros, the RMS of got.
/// Any non-finite value of got, or a size difference, gives infinity.
[[nodiscard]] double relative_rms(std::span<const float> got, std::span<const float> expected);

/// Collects the rows of one subject.
class Report {
 public:
  Report(std::string subject, RowSink sink) : subject_(std::move(subject)), sink_(sink) {}

  /// relative_rms of got against expected.
  void floats(std::string stage, std::span<const float> got, std::span<const float> expected,
              double tolerance);
  /// The same for rows with a stride.
  void floats(std::string stage, ConstMat got, std::span<const float> expected, double tolerance);
  /// Counts differing positions (a length difference counts as that many); tolerance 0.
  void ids(std::string stage, std::span<const int32_t> got, std::span<const int32_t> expected);
  /// Counts of mismatches found elsewhere.
  void mismatches(std::string stage, size_t count, std::string note = {});
  /// An error measured elsewhere, passing if at most tolerance.
  void measured(std::string stage, double error, double tolerance, std::string_view measure,
                std::string note = {});
  void not_built(std::string stage, std::string note);
  /// A stage that could not be run: a miss with the reason.
  void failed(std::string stage, std::string note);

  [[nodiscard]] size_t misses() const { return misses_; }
  [[nodiscard]] size_t rows() const { return rows_; }

 private:
  void add(Row row);

  std::string subject_;
  RowSink sink_;
  size_t misses_ = 0;
  size_t rows_ = 0;
};

}  // namespace rill::verify
