// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/lfm2_audio/files.h"

namespace rill::model::lfm2_audio {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFullPackage = {
    "B-F16.gguf", "mmproj-B-F16.gguf", "vocoder-B-F16.gguf", "tokenizer-B-F16.gguf", "README.md"};

TEST(ChooseFiles, TakesTheBackboneAndItsCompanions) {
  const auto files = choose_files("dir", kFullPackage, {}, Use::kSpeak);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->backbone, "B-F16.gguf");
  EXPECT_EQ(files->mmproj, "mmproj-B-F16.gguf");
  EXPECT_EQ(files->vocoder, "vocoder-B-F16.gguf");
  EXPECT_EQ(files->detokenizer, "tokenizer-B-F16.gguf");
}

TEST(ChooseFiles, ListeningNeedsNoVocoder) {
  const auto files = choose_files("dir", {"a.GGUF", "mmproj-other.gguf"}, {}, Use::kListen);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->backbone, "a.GGUF");
  EXPECT_EQ(files->mmproj, "mmproj-other.gguf");
  EXPECT_EQ(files->vocoder, "");
}

TEST(ChooseFiles, ListeningIgnoresAmbiguousVocoders) {
  EXPECT_TRUE(choose_files("dir", {"a.gguf", "mmproj-a.gguf", "vocoder-b.gguf", "vocoder-c.gguf"},
                           {}, Use::kListen));
}

TEST(ChooseFiles, CompanionOfTheSameNameWinsOverOthers) {
  FileOptions options;
  options.model_gguf = "B-Q8_0.gguf";
  const auto files =
      choose_files("dir", {"B-F16.gguf", "B-Q8_0.gguf", "mmproj-B-F16.gguf", "mmproj-B-Q8_0.gguf"},
                   options, Use::kListen);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->mmproj, "mmproj-B-Q8_0.gguf");
}

TEST(ChooseFiles, OptionsNameFiles) {
  FileOptions options;
  options.mmproj_gguf = "sub/other.gguf";
  const auto files = choose_files("dir", {"a.gguf", "sub/other.gguf"}, options, Use::kListen);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->mmproj, "sub/other.gguf");
}

struct Refusal {
  std::string name;
  std::vector<std::string> files;
  FileOptions options;
  Use use = Use::kListen;
  ErrorCode code = ErrorCode::kNotFound;
  std::string message;
};

class ChooseFilesRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ChooseFilesRefuses, WithCodeAndMessage) {
  const Refusal& refusal = GetParam();
  const auto files = choose_files("dir", refusal.files, refusal.options, refusal.use);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, refusal.code);
  EXPECT_EQ(files.error().message, refusal.message);
}

FileOptions with_model(std::string value) {
  FileOptions options;
  options.model_gguf = std::move(value);
  return options;
}

std::string bad_path(const std::string& value) {
  return "lfm2_audio.model_gguf: got '" + value +
         "', expected a GGUF file inside dir, as a relative path";
}

const std::vector<std::string> kPair = {"a.gguf", "mmproj-a.gguf"};

INSTANTIATE_TEST_SUITE_P(
    Cases, ChooseFilesRefuses,
    testing::Values(Refusal{"NoBackbone",
                            {"mmproj-a.gguf", "notes.txt", ".gguf"},
                            {},
                            Use::kListen,
                            ErrorCode::kNotFound,
                            "dir has no backbone GGUF"},
                    Refusal{"SeveralBackbones",
                            {"b.gguf", "a.gguf"},
                            {},
                            Use::kListen,
                            ErrorCode::kInvalidArgument,
                            "dir has several backbone GGUFs: a.gguf, b.gguf; choose one with "
                            "lfm2_audio.model_gguf"},
                    Refusal{"NoMmproj",
                            {"a.gguf"},
                            {},
                            Use::kListen,
                            ErrorCode::kNotFound,
                            "dir has no mmproj GGUF for a.gguf: expected mmproj-a.gguf"},
                    Refusal{"AmbiguousMmproj",
                            {"a.gguf", "mmproj-c.gguf", "mmproj-b.gguf"},
                            {},
                            Use::kListen,
                            ErrorCode::kInvalidArgument,
                            "cannot pick the mmproj GGUF for a.gguf among mmproj-b.gguf, "
                            "mmproj-c.gguf; choose one with "
                            "lfm2_audio.mmproj_gguf"},
                    Refusal{"AmbiguousDetokenizer",
                            {"a.gguf", "mmproj-a.gguf", "vocoder-a.gguf", "tokenizer-b.gguf",
                             "tokenizer-c.gguf"},
                            {},
                            Use::kSpeak,
                            ErrorCode::kInvalidArgument,
                            "cannot pick the detokenizer GGUF for a.gguf among tokenizer-b.gguf, "
                            "tokenizer-c.gguf; choose one "
                            "with lfm2_audio.detokenizer_gguf"},
                    Refusal{"NothingThatSpeaks",
                            kPair,
                            {},
                            Use::kSpeak,
                            ErrorCode::kNotFound,
                            "TTS and S2S need vocoder-a.gguf and tokenizer-a.gguf, missing in dir; "
                            "install the package again "
                            "with --overwrite"},
                    Refusal{"NoDetokenizer",
                            {"a.gguf", "mmproj-a.gguf", "vocoder-a.gguf"},
                            {},
                            Use::kSpeak,
                            ErrorCode::kNotFound,
                            "TTS and S2S need tokenizer-a.gguf, missing in dir; install the "
                            "package again with --overwrite"},
                    Refusal{"EmptyOption", kPair, with_model(""), Use::kListen,
                            ErrorCode::kInvalidArgument, bad_path("")},
                    Refusal{"AbsoluteOption", kPair, with_model("/dir/a.gguf"), Use::kListen,
                            ErrorCode::kInvalidArgument, bad_path("/dir/a.gguf")},
                    Refusal{"OptionOutside", kPair, with_model("x/../../a.gguf"), Use::kListen,
                            ErrorCode::kInvalidArgument, bad_path("x/../../a.gguf")},
                    Refusal{"OptionOfAnotherKind", kPair, with_model("a.txt"), Use::kListen,
                            ErrorCode::kInvalidArgument, bad_path("a.txt")},
                    Refusal{"OptionWithoutFile", kPair, with_model("z.gguf"), Use::kListen,
                            ErrorCode::kNotFound, "lfm2_audio.model_gguf: dir has no file z.gguf"}),
    [](const testing::TestParamInfo<Refusal>& refused) { return refused.param.name; });

/// A directory that is removed again.
class SelectFiles : public testing::Test {
 protected:
  SelectFiles() : directory_(fs::path(testing::TempDir()) / "rill_select_files") {
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "sub");
  }
  ~SelectFiles() override { fs::remove_all(directory_); }
  void touch(const std::string& name) const { std::ofstream(directory_ / name) << "x"; }
  [[nodiscard]] std::string path(const std::string& name = "") const {
    return (directory_ / name).string();
  }

 private:
  fs::path directory_;
};

TEST_F(SelectFiles, ListsTheDirectoryButNotItsSubdirectories) {
  touch("a.gguf");
  touch("mmproj-a.gguf");
  touch("sub/b.gguf");
  const auto files = select_files(path(), {}, Use::kListen);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->backbone, "a.gguf");
}

TEST_F(SelectFiles, AnOptionReachesASubdirectory) {
  touch("mmproj-b.gguf");
  touch("sub/b.gguf");
  const auto files = select_files(path(), with_model("sub/b.gguf"), Use::kListen);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->backbone, "sub/b.gguf");
  EXPECT_EQ(files->mmproj, "mmproj-b.gguf");
}

TEST_F(SelectFiles, ADirectoryNamedLikeAGgufIsNoFile) {
  fs::create_directories(path("a.gguf"));
  const auto files = select_files(path(), {}, Use::kListen);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kNotFound);
}

TEST_F(SelectFiles, AGgufPathIsRejectedWithWhatToPassInstead) {
  touch("a.gguf");
  const auto files = select_files(path("a.gguf"), {}, Use::kListen);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(files.error().message.find("got a GGUF file, expected the directory"),
            std::string::npos)
      << files.error().message;
}

TEST_F(SelectFiles, AMissingDirectoryIsNotFound) {
  const auto files = select_files(path("nowhere"), {}, Use::kListen);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rill::model::lfm2_audio
