// SPDX-License-Identifier: Apache-2.0
// Matrix products with AVX-512 and its VNNI dot product: matmul_tile.h with the instructions of
// matmul_avx512.h.
#include "kernels/matmul/matmul_avx512.h"

namespace rill::kernels {

RILL_DEFINE_MATMULS(avx512vnni, Avx512)

}  // namespace rill::kernels
