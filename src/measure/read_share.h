// SPDX-License-Identifier: Apache-2.0
// How much of the memory's read bandwidth a computation uses, measured in turns with the bandwidth
// itself: a machine that is shared with others reads faster and slower from one second to the next.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "measure/machine_limits.h"

namespace rill::measure {

/// In each turn `read()` computes for a while and returns the bytes per second that it read; the
/// share is that over the mean of the bandwidths before and after it.
struct ReadShares {
  std::vector<double> bandwidths;  ///< bytes per second
  std::vector<double> shares;
};

template <typename Read>
Result<ReadShares> measure_read_shares(ReadBandwidth& bandwidth, size_t turns, const Read& read) {
  ReadShares result;
  double before = bandwidth.measure();
  for (size_t i = 0; i < turns; ++i) {
    RILL_ASSIGN_OR_RETURN(const double rate, read());
    const double after = bandwidth.measure();
    result.bandwidths.push_back(after);
    result.shares.push_back(rate / ((before + after) / 2));
    before = after;
  }
  return result;
}

}  // namespace rill::measure
