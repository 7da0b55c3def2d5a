// SPDX-License-Identifier: Apache-2.0
// What prompt lookup gains: the same replies with and without it.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "measure/speed.h"
#include "model/lfm2/backbone.h"
#include "ops/context.h"

namespace rill::measure {

/// Two texts: one that repeats itself and one that does not. The replies are compared first.
/// Errors: kOutOfMemory; kInternal if a reply with prompt lookup is another one.
Result<Json> measure_lookup(ops::Context& context, const model::lfm2::Backbone& backbone,
                            const SpeedOptions& options);

}  // namespace rill::measure
