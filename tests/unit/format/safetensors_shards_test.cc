// SPDX-License-Identifier: Apache-2.0
#include "format/safetensors_shards.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/gguf_builder.h"
#include "support/test_data.h"

namespace rill::format {
namespace {

class ShardsTest : public testing::Test {
 protected:
  ShardsTest() { std::filesystem::create_directories(folder_); }
  ~ShardsTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    test::write_file(folder_ + "/" + name, test::to_bytes(text));
  }

  // A file with I8 tensors of one byte each, in the given order.
  void shard(const std::string& name, const std::vector<std::string>& tensors) const {
    std::string header = "{";
    for (size_t i = 0; i < tensors.size(); ++i) {
      header += (i == 0 ? "\"" : ",\"") + tensors[i] +
                R"(":{"dtype":"I8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
                std::to_string(i + 1) + "]}";
    }
    test::ByteSink sink;
    sink.string(header + "}").zeros(tensors.size());
    test::write_file(folder_ + "/" + name, sink.bytes());
  }

  void index(const std::string& map) const {
    write("model.safetensors.index.json",
          R"({"metadata":{"total_size":3},"weight_map":)" + map + "}");
  }

  [[nodiscard]] std::string error(ErrorCode code = ErrorCode::kInvalidFormat) const {
    const Result<SafetensorsCheckpoint> checkpoint = SafetensorsCheckpoint::open(folder_);
    EXPECT_FALSE(checkpoint.has_value());
    if (checkpoint) return "";
    EXPECT_EQ(checkpoint.error().code, code) << checkpoint.error().message;
    return checkpoint.error().message;
  }

  std::string folder_ = test::temp_path("shards");
};

TEST_F(ShardsTest, MergesTheShardsOfAnIndex) {
  shard("one.safetensors", {"a", "b"});
  shard("two.safetensors", {"c"});
  index(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})");
  for (const std::string& path : {folder_, folder_ + "/model.safetensors.index.json"}) {
    const Result<SafetensorsCheckpoint> checkpoint = SafetensorsCheckpoint::open(path);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->files().size(), 2U);
    EXPECT_EQ(checkpoint->tensors().all().size(), 3U);
    EXPECT_TRUE(checkpoint->get("c").has_value());
    EXPECT_EQ(checkpoint->get("d").error().code, ErrorCode::kNotFound);
  }
}

TEST_F(ShardsTest, OpensASingleFile) {
  shard("model.safetensors", {"a"});
  for (const std::string& path : {folder_, folder_ + "/model.safetensors"}) {
    const Result<SafetensorsCheckpoint> checkpoint = SafetensorsCheckpoint::open(path);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->tensors().all().size(), 1U);
  }
}

TEST_F(ShardsTest, RefusesShardsOutsideTheFolder) {
  for (const char* name :
       {"../one.safetensors", "/etc/passwd", "x/one.safetensors", "..", ".", "", "a\\\\b"}) {
    index(std::string(R"({"a":")") + name + "\"}");
    EXPECT_NE(error().find("weight_map: a: got"), std::string::npos) << name;
  }
  index(R"({"a":1})");
  EXPECT_NE(error().find("expected the name of a file in the same folder"), std::string::npos);
}

TEST_F(ShardsTest, RefusesATensorInTwoShards) {
  shard("one.safetensors", {"a", "b"});
  shard("two.safetensors", {"b"});
  index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  EXPECT_NE(error().find("tensor b: got it in one.safetensors and in two.safetensors"),
            std::string::npos);
}

TEST_F(ShardsTest, RefusesAListedTensorThatIsMissing) {
  shard("one.safetensors", {"a"});
  index(R"({"a":"one.safetensors","b":"one.safetensors"})");
  EXPECT_NE(error(ErrorCode::kNotFound).find("weight_map: b: got no such tensor in any file"),
            std::string::npos);
}

TEST_F(ShardsTest, RefusesATensorInAnotherShardThanListed) {
  shard("one.safetensors", {"a"});
  shard("two.safetensors", {"b"});
  index(R"({"a":"two.safetensors","b":"one.safetensors"})");
  EXPECT_NE(error(ErrorCode::kNotFound)
                .find("weight_map: a: got it in one.safetensors, expected it in two"),
            std::string::npos);
}

TEST_F(ShardsTest, RefusesAnUnlistedTensor) {
  shard("one.safetensors", {"a", "b"});
  index(R"({"a":"one.safetensors"})");
  EXPECT_NE(error().find("tensor b: got it in one.safetensors and not in weight_map"),
            std::string::npos);
}

TEST_F(ShardsTest, RefusesAMissingShardOrIndex) {
  index(R"({"a":"one.safetensors"})");
  EXPECT_NE(error(ErrorCode::kNotFound).find("one.safetensors"), std::string::npos);
  std::filesystem::remove(folder_ + "/model.safetensors.index.json");
  EXPECT_NE(error(ErrorCode::kNotFound).find("model.safetensors"), std::string::npos);
  EXPECT_EQ(SafetensorsCheckpoint::open(folder_ + "/none.json").error().code, ErrorCode::kNotFound);
}

TEST_F(ShardsTest, RefusesAnIllFormedIndex) {
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"a":)"}) {
    write("model.safetensors.index.json", text);
    EXPECT_NE(error().find("model.safetensors.index.json"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rill::format
