// SPDX-License-Identifier: Apache-2.0
// The kernel families' contracts: one header each, C headers only.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/quantize_activations/quantize_activations.h"
#include "kernels/rope/rope.h"
