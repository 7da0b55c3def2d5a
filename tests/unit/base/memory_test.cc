// SPDX-License-Identifier: Apache-2.0
// AlignedBuffer and Arena.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/arena.h"

// An allocation that is too large must fail under the address sanitizer as it does without, not end
// the program.
// Visible, or the runtime of gcc does not find them.
#define RILL_SANITIZER_HOOK extern "C" __attribute__((visibility("default"))) const char*
RILL_SANITIZER_HOOK __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
RILL_SANITIZER_HOOK __asan_default_options() { return "allocator_may_return_null=1"; }
RILL_SANITIZER_HOOK __tsan_default_options();  // NOLINT(bugprone-reserved-identifier)
RILL_SANITIZER_HOOK __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace rill {
namespace {

bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % AlignedBuffer::kAlignment == 0;
}

TEST(AlignedBuffer, IsAlignedAndZeroedWhenAsked) {
  for (size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{100000}}) {
    Result<AlignedBuffer> buffer = AlignedBuffer::create_zeroed(size);
    ASSERT_TRUE(buffer.has_value());
    EXPECT_TRUE(is_aligned(buffer->data()));
    EXPECT_EQ(buffer->size_bytes(), size);
    for (uint8_t byte : buffer->as<uint8_t>()) ASSERT_EQ(byte, 0);
  }
}

TEST(AlignedBuffer, LargeBuffersStartAtAHugePage) {
  constexpr size_t kHugePage = size_t{2} << 20;
  for (size_t size : {kHugePage, kHugePage + 1, 3 * kHugePage - 64}) {
    Result<AlignedBuffer> buffer = AlignedBuffer::create(size);
    ASSERT_TRUE(buffer.has_value());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kHugePage, 0U);
    EXPECT_EQ(buffer->size_bytes(), size);
    std::memset(buffer->data(), 1, size);  // all of it is there
  }
}

TEST(AlignedBuffer, ZeroBytesAreEmpty) {
  const Result<AlignedBuffer> buffer = AlignedBuffer::create(0);
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(buffer->size_bytes(), 0U);
  EXPECT_TRUE(buffer->as<float>().empty());
}

TEST(AlignedBuffer, ImpossibleSizesAreErrors) {
  const Result<AlignedBuffer> huge = AlignedBuffer::create(static_cast<size_t>(-1) / 2);
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code, ErrorCode::kOutOfMemory);
  EXPECT_FALSE(AlignedBuffer::create(static_cast<size_t>(-1)).has_value());
  EXPECT_FALSE(AlignedBuffer::create_for<double>(static_cast<size_t>(-1) / 4).has_value());
}

TEST(AlignedBuffer, MovesLeaveNothingBehind) {
  AlignedBuffer first = AlignedBuffer::create_for<int32_t>(8).value();
  first.as<int32_t>()[3] = 42;
  AlignedBuffer second = std::move(first);
  EXPECT_EQ(first.data(),
            nullptr);  // NOLINT(bugprone-use-after-move): the moved-from state is the subject
  EXPECT_EQ(second.as<int32_t>()[3], 42);
  first = std::move(second);
  EXPECT_EQ(first.as<int32_t>()[3], 42);
}

TEST(Arena, PiecesAreAlignedAndApart) {
  Arena arena;
  const Arena::Scope scope(arena);
  const std::span<float> a = arena.take<float>(100).value();
  const std::span<float> b = arena.take<float>(100).value();
  EXPECT_TRUE(is_aligned(a.data()));
  EXPECT_TRUE(is_aligned(b.data()));
  std::memset(a.data(), 1, a.size_bytes());
  std::memset(b.data(), 2, b.size_bytes());
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(a.data())[a.size_bytes() - 1], 1);
}

TEST(Arena, EqualPassesReuseTheirMemory) {
  Arena arena;
  size_t reserved = 0;
  const void* place = nullptr;
  for (int pass = 0; pass < 3; ++pass) {
    const Arena::Scope scope(arena);
    const std::span<float> small = arena.take<float>(10).value();
    const std::span<float> large = arena.take<float>(1 << 20).value();
    ASSERT_EQ(large.size(), size_t{1} << 20);
    large[0] = 1;
    large[large.size() - 1] = 1;
    if (pass > 0) {
      EXPECT_EQ(arena.reserved_bytes(), reserved);
      EXPECT_EQ(small.data(), place);
    }
    reserved = arena.reserved_bytes();
    place = small.data();
  }
  EXPECT_GT(reserved, size_t{4} << 20);
  arena.release();
  EXPECT_EQ(arena.reserved_bytes(), 0U);
}

TEST(Arena, ScopesNest) {
  Arena arena;
  const Arena::Scope outer(arena);
  const std::span<int> kept = arena.take<int>(16).value();
  kept[0] = 7;
  const void* inner_place = nullptr;
  {
    const Arena::Scope inner(arena);
    const std::span<int> piece = arena.take<int>(16).value();
    piece[0] = 9;
    inner_place = piece.data();
  }
  EXPECT_EQ(arena.take<int>(16).value().data(), inner_place);
  EXPECT_EQ(kept[0], 7);
}

TEST(Arena, ImpossibleSizesAreErrors) {
  Arena arena;
  const Arena::Scope scope(arena);
  EXPECT_EQ(arena.take<double>(static_cast<size_t>(-1) / 2).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(arena.take<char>(static_cast<size_t>(-1) / 2).error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(arena.take<char>(10).has_value());
}

}  // namespace
}  // namespace rill
