// SPDX-License-Identifier: Apache-2.0
// The encoder's front: three convolutions with stride 2 that turn mel frames into steps of 80 ms.
#pragma once

#include "base/result.h"
#include "model/conformer/weights.h"
#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"

namespace rill::model::conformer {

/// Log-mel frames -> encoder inputs. Works through blocks of output steps, so that the images of
/// the convolutions, by far the largest activations of the encoder, do not grow with the length of
/// the audio. Every value is computed alone, so the blocks do not show in the result. Shapes: mel
/// [F, M] -> out [num_steps(F), D]. Errors: kOutOfMemory (scratch). Source: liquid-audio
/// conformer/subsampling.py, ConvSubsampling ("dw_striding").
Status subsample(ops::Context& context, const SubsamplingWeights& weights, ConstMat mel, Mat out,
                 const Trace* trace);

}  // namespace rill::model::conformer
