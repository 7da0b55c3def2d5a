// SPDX-License-Identifier: Apache-2.0
#include "ops/kv_cache.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "kernels/attention/key_order.h"
#include "kernels/kernel_table.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

constexpr size_t kGroup = kernels::kKeyGroup;
static_assert(kKvBlockPositions % kGroup == 0);

/// A layer's cache as elements of its type.
template <typename Element>
class Elements {
 public:
  explicit Elements(const KvView& kv) : kv_(kv), key_order_(kv.head_dim) {}

  /// The value of a head at a position: d elements.
  [[nodiscard]] Element* value(size_t head, size_t position) const {
    return block(position) + row(1, head, position) * kv_.head_dim;
  }
  /// Where the key begins; element c lies at [key_place(c)].
  [[nodiscard]] Element* key(size_t head, size_t position) const {
    const size_t r = row(0, head, position);
    return block(position) + r / kGroup * kGroup * kv_.head_dim + r % kGroup;
  }
  [[nodiscard]] size_t key_place(size_t c) const { return key_order_(c) * kGroup; }

  /// Calls visit(key, value, key_row, value_row) for each head at some positions, with the rows'
  /// numbers among those of read_kv.
  template <typename Visit>
  void visit(size_t first_position, size_t count, Visit visit) const {
    const size_t heads = kv_.num_kv_heads;
    for (size_t g = 0; g < heads; ++g) {
      for (size_t t = 0; t < count; ++t) {
        const size_t position = first_position + t;
        visit(key(g, position), value(g, position), g * count + t, (heads + g) * count + t);
      }
    }
  }

 private:
  [[nodiscard]] Element* block(size_t position) const {
    return reinterpret_cast<Element*>(kv_.blocks[position / kKvBlockPositions]);
  }
  [[nodiscard]] size_t row(size_t part, size_t head, size_t position) const {
    return (part * kv_.num_kv_heads + head) * kKvBlockPositions + position % kKvBlockPositions;
  }

  const KvView& kv_;
  const kernels::KeyOrder key_order_;
};

void convert(const kernels::KernelTable&, const float* from, size_t count, float* to) {
  std::copy_n(from, count, to);
}
void convert(const kernels::KernelTable& table, const float* from, size_t count, uint16_t* to) {
  table.f32_to_f16(from, count, to);
}

/// Keys and values [G*d] of one position.
template <typename Element>
void store_position(const Elements<Element>& cache, const kernels::KernelTable& table,
                    const float* k, const float* v, size_t position, const KvView& kv) {
  const size_t d = kv.head_dim;
  std::array<Element, 64> part;
  for (size_t g = 0; g < kv.num_kv_heads; ++g, k += d, v += d) {
    convert(table, v, d, cache.value(g, position));
    Element* key = cache.key(g, position);
    for (size_t first = 0; first < d; first += part.size()) {
      const size_t count = std::min(part.size(), d - first);
      convert(table, k + first, count, part.data());
      for (size_t c = 0; c < count; ++c) key[cache.key_place(first + c)] = part[c];
    }
  }
}

template <typename Element>
void store_rows(Context& context, ConstMat k, ConstMat v, size_t first_position, const KvView& kv) {
  const Elements<Element> cache(kv);
  parallel_ranges(context, k.rows, 2 * k.cols, kLightGrain, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t)
      store_position(cache, *context.kernels, k.row(t), v.row(t), first_position + t, kv);
  });
}

// Rows may lie anywhere, so their elements are copied as bytes.

template <typename Element>
void read_rows(const KvView& kv, size_t first_position, size_t count, std::byte* rows) {
  const Elements<Element> cache(kv);
  const size_t bytes = kv.head_dim * sizeof(Element);
  cache.visit(first_position, count,
              [&](const Element* k, const Element* v, size_t k_row, size_t v_row) {
                for (size_t c = 0; c < kv.head_dim; ++c) {
                  std::memcpy(rows + k_row * bytes + c * sizeof(Element), k + cache.key_place(c),
                              sizeof(Element));
                }
                std::memcpy(rows + v_row * bytes, v, bytes);
              });
}

template <typename Element>
void write_rows(const std::byte* rows, size_t first_position, size_t count, const KvView& kv) {
  const Elements<Element> cache(kv);
  const size_t bytes = kv.head_dim * sizeof(Element);
  cache.visit(first_position, count, [&](Element* k, Element* v, size_t k_row, size_t v_row) {
    for (size_t c = 0; c < kv.head_dim; ++c) {
      std::memcpy(k + cache.key_place(c), rows + k_row * bytes + c * sizeof(Element),
                  sizeof(Element));
    }
    std::memcpy(v, rows + v_row * bytes, bytes);
  });
}

void check_range(const KvView& kv, size_t first_position, size_t count) {
  RILL_CHECK(kv.dtype == DType::kF32 || kv.dtype == DType::kF16, "kv cache: F32 or F16");
  RILL_CHECK(
      (first_position + count + kKvBlockPositions - 1) / kKvBlockPositions <= kv.blocks.size(),
      "kv cache: positions past the last block");
}

}  // namespace

void store_kv(Context& context, ConstMat k, ConstMat v, size_t first_position, const KvView& kv) {
  RILL_CHECK(k.cols == kv.num_kv_heads * kv.head_dim && v.cols == k.cols && v.rows == k.rows,
             "store_kv: shapes");
  check_range(kv, first_position, k.rows);
  if (kv.dtype == DType::kF32) return store_rows<float>(context, k, v, first_position, kv);
  store_rows<uint16_t>(context, k, v, first_position, kv);
}

size_t kv_row_bytes(const KvView& kv) {
  return row_bytes(kv.dtype, 2 * kv.num_kv_heads * kv.head_dim);
}

void read_kv(const KvView& kv, size_t first_position, size_t count, std::byte* rows) {
  check_range(kv, first_position, count);
  if (kv.dtype == DType::kF32) return read_rows<float>(kv, first_position, count, rows);
  read_rows<uint16_t>(kv, first_position, count, rows);
}

void write_kv(const std::byte* rows, size_t first_position, size_t count, const KvView& kv) {
  check_range(kv, first_position, count);
  if (kv.dtype == DType::kF32) return write_rows<float>(rows, first_position, count, kv);
  write_rows<uint16_t>(rows, first_position, count, kv);
}

}  // namespace rill::ops
