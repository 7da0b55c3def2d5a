// SPDX-License-Identifier: Apache-2.0
// Collects a spoken question out of live sound: from a little before somebody speaks to a pause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rill::cli {

struct EndpointOptions {
  size_t pause_ms = 700;       ///< silence that ends a question
  size_t pre_roll_ms = 450;    ///< sound that goes before the moment in which speech is noticed
  size_t kept_pause_ms = 200;  ///< of the silence at the end, what stays in the question
  size_t max_question_s = 60;
};

/// Threading: one thread.
class Endpointer {
 public:
  static constexpr size_t kSampleRateHz = 16000;

  explicit Endpointer(const EndpointOptions& options = {}) : options_(options) {}

  /// Takes a piece, and whether somebody spoke at its end. Returns whether a question has ended.
  bool push(std::span<const int16_t> piece, bool speaking);
  /// The question, also one that was only begun; empty if nobody spoke. Starts over.
  std::vector<int16_t> take();

 private:
  [[nodiscard]] static size_t samples(size_t ms) { return ms * kSampleRateHz / 1000; }

  EndpointOptions options_;
  std::vector<int16_t> sound_;
  bool started_ = false;
  size_t silence_samples_ = 0;
};

}  // namespace rill::cli
