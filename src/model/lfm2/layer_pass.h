// SPDX-License-Identifier: Apache-2.0
// What the layers of one forward pass share. Used by backbone.cc and feed_forward.cc alone.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/str_cat.h"
#include "model/lfm2/backbone.h"

namespace rill::model::lfm2 {

/// One piece of a forward pass, and the layer that is being computed.
struct LayerPass {
  ops::Context& context;
  const Config& config;
  std::span<const Segment> segments;
  ConstMat cos_sin;  // [T, d]
  const Trace* trace;
  size_t layer;

  /// Gives "layerI.name" to the trace, if there is one.
  void record(std::string_view name, ConstMat value) const {
    if (trace != nullptr) (*trace)(cat("layer", layer, ".", name), value);
  }
};

/// Cuts the rows of a batch into pieces of at most max_rows; each piece has its own list of
/// segments.
class PieceCutter {
 public:
  /// `piece` has room for segments.size() entries.
  PieceCutter(std::span<const Segment> segments, std::span<Segment> piece, size_t max_rows)
      : all_(segments), piece_(piece), max_rows_(max_rows) {}

  /// Goes to the next piece; false when there is none.
  bool next() {
    first_row_ += rows_;
    rows_ = 0;
    size_t count = 0;
    while (index_ < all_.size() && rows_ < max_rows_) {
      const size_t take = std::min(all_[index_].rows - done_, max_rows_ - rows_);
      if (take > 0) piece_[count++] = {all_[index_].state, take};
      rows_ += take;
      done_ += take;
      if (done_ == all_[index_].rows) {
        ++index_;
        done_ = 0;
      }
    }
    current_ = piece_.first(count);
    return rows_ > 0;
  }
  [[nodiscard]] size_t first_row() const { return first_row_; }
  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] std::span<const Segment> segments() const { return current_; }

 private:
  std::span<const Segment> all_;
  std::span<Segment> piece_;
  size_t max_rows_;
  std::span<const Segment> current_;
  size_t index_ = 0;  // segment that the next piece starts in
  size_t done_ = 0;   // its rows in earlier pieces
  size_t first_row_ = 0;
  size_t rows_ = 0;
};

/// A contiguous matrix in scratch memory. Lifetime: the enclosing Arena::Scope.
inline Result<Mat> take_mat(ops::Context& context, size_t rows, size_t cols) {
  RILL_ASSIGN_OR_RETURN(const std::span<float> memory, context.scratch->take<float>(rows * cols));
  return Mat{memory.data(), rows, cols, cols};
}

inline const float* data_or_null(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

/// out = w2( silu(w1 x) * (w3 x) )
Status feed_forward(ops::Context& context, const FeedForwardWeights& w, ConstMat x, Mat out);

/// Router, then the chosen experts of each row, summed in ascending expert index.
Status sparse_feed_forward(LayerPass& pass, const SparseFeedForwardWeights& w, ConstMat x, Mat out);

}  // namespace rill::model::lfm2
