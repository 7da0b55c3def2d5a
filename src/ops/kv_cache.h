// SPDX-License-Identifier: Apache-2.0
// The block-wise cache of keys and values of one attention layer: where they lie, and how they get
// there and back.
#pragma once

#include <cstddef>
#include <span>

#include "ops/context.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace rill::ops {

/// Positions per KV block; a multiple of the attention tile.
inline constexpr size_t kKvBlockPositions = 256;

/// Keys and values of one layer. blocks[b] points at block b of that layer: elements of dtype (F32
/// or F16), first the keys, [G, kKvBlockPositions / 16, d, 16] (kernels::kKeyGroup of them side by
/// side, their elements in kernels::KeyOrder), then the values, [G, kKvBlockPositions, d]. Position
/// p is in block p / kKvBlockPositions.
struct KvView {
  DType dtype = DType::kF32;
  size_t num_kv_heads = 0;  // G
  size_t head_dim = 0;      // d
  std::span<std::byte* const> blocks;
};

/// Writes keys and values [T, G*d] to positions first_position .. + T - 1 (rounded when the cache
/// is F16).
void store_kv(Context& context, ConstMat k, ConstMat v, size_t first_position, const KvView& kv);

/// Bytes that read_kv gives and write_kv takes for one position.
size_t kv_row_bytes(const KvView& kv);
/// Copies `count` positions out as rows, [2 (k, v), G, count, d] in the type of the cache.
/// Shape: rows [count * kv_row_bytes()].
void read_kv(const KvView& kv, size_t first_position, size_t count, std::byte* rows);
/// Writes rows that read_kv gave.
void write_kv(const std::byte* rows, size_t first_position, size_t count, const KvView& kv);

}  // namespace rill::ops
