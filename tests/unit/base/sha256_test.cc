// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace rill {
namespace {

std::string hash_of(const std::string& text) {
  return sha256_hex({reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

// Examples of FIPS 180-4 and its test vectors.
TEST(Sha256, HashesTheStandardExamples) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, AnyCutGivesTheSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  const std::string whole = hash_of(text);
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.update({data, cut});
    hash.update({data + cut, text.size() - cut});
    EXPECT_EQ(to_hex(hash.finish()), whole) << "cut at " << cut;
  }
}

// Lengths around the padding boundaries (55, 56, 63, 64) take different paths; byte by byte equals
// whole.
TEST(Sha256, PaddingBoundariesAgreeWithByteByByte) {
  for (size_t size = 50; size < 130; ++size) {
    const std::string text(size, 'x');
    Sha256 hash;
    for (const char& c : text) hash.update({reinterpret_cast<const std::byte*>(&c), 1});
    EXPECT_EQ(to_hex(hash.finish()), hash_of(text)) << size;
  }
}

}  // namespace
}  // namespace rill
