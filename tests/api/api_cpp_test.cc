// SPDX-License-Identifier: Apache-2.0
// The C interface from C++: the demo model from memory, samples instead of files, log messages,
// threads.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rill/rill.h"

namespace {

const std::string kAssets = std::string(RILL_SOURCE_DIR) + "/assets/demo/";
constexpr const char* kClip = "wav/asr_12.wav";
constexpr const char* kClipText = "It is quarter to eight.";

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Engine, model from memory, and session.
class ApiTest : public testing::Test {
 protected:
  void SetUp() override {
    rill_engine_options options = {};
    options.struct_size = sizeof(options);
    options.threads = 2;
    options.log = [](void* user, rill_log_level, const char* message, size_t size) {
      static_cast<std::string*>(user)->append(message, size);
    };
    options.log_user = &log_;
    ASSERT_EQ(rill_engine_create(&options, &engine_, nullptr), RILL_OK);
    std::vector<rill_memory_file> files;
    for (size_t i = 0; i < kNames.size(); ++i) {
      bytes_[i] = read_file(kAssets + kNames[i]);
      files.push_back({kNames[i], bytes_[i].data(), bytes_[i].size()});
    }
    rill_error* error = nullptr;
    ASSERT_EQ(rill_model_open_memory(engine_, files.data(), files.size(), nullptr, &model_, &error),
              RILL_OK)
        << rill_error_message(error);
    ASSERT_EQ(rill_session_create(model_, &session_, nullptr), RILL_OK);
    ASSERT_EQ(rill_request_create(RILL_TASK_ASR, &request_, nullptr), RILL_OK);
  }
  void TearDown() override {
    rill_request_destroy(request_);
    rill_session_destroy(session_);
    rill_model_destroy(model_);
    rill_engine_destroy(engine_);
  }

  std::string run(rill_session* session, const rill_request* request) {
    rill_result* result = nullptr;
    rill_error* error = nullptr;
    const rill_status status = rill_session_run(session, request, &result, &error);
    std::string text =
        status == RILL_OK ? rill_result_text(result, nullptr) : rill_error_message(error);
    rill_result_destroy(result);
    rill_error_destroy(error);
    return text;
  }

  static constexpr std::array<const char*, 2> kNames = {"demo-Q8_0.gguf", "mmproj-demo-Q8_0.gguf"};
  // operator new aligns well enough for tensors; mapped files are aligned to pages.
  std::array<std::vector<char>, 2> bytes_;
  std::string log_;
  rill_engine* engine_ = nullptr;
  rill_model* model_ = nullptr;
  rill_session* session_ = nullptr;
  rill_request* request_ = nullptr;
};

TEST_F(ApiTest, TranscribesBytesOfAFile) {
  const std::vector<char> wav = read_file(kAssets + kClip);
  ASSERT_EQ(rill_request_set_audio_bytes(request_, wav.data(), wav.size(), nullptr), RILL_OK);
  EXPECT_EQ(run(session_, request_), kClipText);
}

TEST_F(ApiTest, TranscribesSamplesLikeTheFile) {
  // A canonical WAV: 44 bytes of header, then 16-bit samples.
  const std::vector<char> wav = read_file(kAssets + kClip);
  ASSERT_GT(wav.size(), 44u);
  std::vector<int16_t> samples((wav.size() - 44) / 2);
  std::copy(wav.begin() + 44, wav.begin() + 44 + static_cast<std::ptrdiff_t>(samples.size() * 2),
            reinterpret_cast<char*>(samples.data()));
  int32_t rate = 0;
  std::copy(wav.begin() + 24, wav.begin() + 28, reinterpret_cast<char*>(&rate));
  ASSERT_EQ(rill_request_set_audio_s16(request_, samples.data(), samples.size(), 1, rate, nullptr),
            RILL_OK);
  EXPECT_EQ(run(session_, request_), kClipText);

  std::vector<float> floats(samples.begin(), samples.end());
  for (float& sample : floats) sample /= 32768.0f;
  ASSERT_EQ(rill_request_set_audio_f32(request_, floats.data(), floats.size(), 1, rate, nullptr),
            RILL_OK);
  EXPECT_EQ(run(session_, request_), kClipText);
}

TEST_F(ApiTest, RunsSessionsOfOneModelOnSeveralThreads) {
  ASSERT_EQ(rill_request_set_audio_file(request_, (kAssets + kClip).c_str(), nullptr), RILL_OK);
  std::array<std::string, 3> texts;
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([this, &text] {
      rill_session* session = nullptr;
      if (rill_session_create(model_, &session, nullptr) == RILL_OK) text = run(session, request_);
      rill_session_destroy(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, kClipText);
}

TEST_F(ApiTest, CancelFromAnotherThreadLeavesTheSessionUsable) {
  ASSERT_EQ(rill_request_set_audio_file(request_, (kAssets + kClip).c_str(), nullptr), RILL_OK);
  std::atomic<bool> done = false;
  std::thread canceller([&] {
    while (!done) {
      rill_session_cancel(session_);
      std::this_thread::yield();
    }
  });
  rill_result* result = nullptr;
  EXPECT_EQ(rill_session_run(session_, request_, &result, nullptr), RILL_ERROR_CANCELLED);
  rill_result_destroy(result);
  done = true;
  canceller.join();
  // The last cancel may have come after the run and then ends the next one.
  rill_session_run(session_, request_, &result, nullptr) == RILL_OK ? rill_result_destroy(result)
                                                                    : void();
  EXPECT_EQ(run(session_, request_), kClipText);
}

TEST_F(ApiTest, ThreadsOfPromptsDoNotChangeTheTranscript) {
  rill_engine_options options = {};
  options.struct_size = sizeof(options);
  options.threads = 1;
  options.threads_batch = 3;
  rill_engine* engine = nullptr;
  ASSERT_EQ(rill_engine_create(&options, &engine, nullptr), RILL_OK);
  EXPECT_EQ(rill_engine_threads(engine), 1);
  rill_model* model = nullptr;
  ASSERT_EQ(rill_model_open(engine, kAssets.c_str(), nullptr, &model, nullptr), RILL_OK);
  rill_session* session = nullptr;
  ASSERT_EQ(rill_session_create(model, &session, nullptr), RILL_OK);
  ASSERT_EQ(rill_request_set_audio_file(request_, (kAssets + kClip).c_str(), nullptr), RILL_OK);
  EXPECT_EQ(run(session, request_), kClipText);
  rill_session_destroy(session);
  rill_model_destroy(model);
  rill_engine_destroy(engine);
}

TEST(ApiEngineTest, RefusesNumbersOfThreads) {
  rill_engine_options options = {};
  options.struct_size = sizeof(options);
  options.threads_batch = 257;
  rill_engine* engine = nullptr;
  rill_error* error = nullptr;
  EXPECT_EQ(rill_engine_create(&options, &engine, &error), RILL_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(rill_error_message(error),
               "create engine: threads_batch: got 257, expected 0 to 256");
  rill_error_destroy(error);
  // A program built before the field existed: what lies behind its struct is not read.
  options.struct_size = offsetof(rill_engine_options, threads_batch);
  ASSERT_EQ(rill_engine_create(&options, &engine, nullptr), RILL_OK);
  rill_engine_destroy(engine);
}

TEST_F(ApiTest, LogsATranscriptCutAtMaxTokens) {
  ASSERT_EQ(rill_request_set_audio_file(request_, (kAssets + kClip).c_str(), nullptr), RILL_OK);
  ASSERT_EQ(rill_request_set_option(request_, "max_tokens", "2", nullptr), RILL_OK);
  EXPECT_EQ(run(session_, request_), "It is");
  EXPECT_NE(log_.find("max_tokens"), std::string::npos) << log_;
}

TEST_F(ApiTest, RefusesUnknownModelOptions) {
  const rill_option option = {"lfm2_audio.nosuch", "1"};
  rill_model_options options = {};
  options.struct_size = sizeof(options);
  options.options = &option;
  options.num_options = 1;
  rill_model* model = nullptr;
  rill_error* error = nullptr;
  EXPECT_EQ(rill_model_open(engine_, kAssets.c_str(), &options, &model, &error),
            RILL_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rill_error_message(error)).find("lfm2_audio.nosuch"), std::string::npos);
  rill_error_destroy(error);
}

}  // namespace
