// SPDX-License-Identifier: Apache-2.0
// rill_state through the public interface: the state after a chat's turn, kept, copied and taken up
// again by another session.
#include <gtest/gtest.h>
#include <rill/rill.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

/// The demo's backbone as a text model, and a session.
class RillState : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(rill_engine_create(nullptr, &engine_, nullptr), RILL_OK);
    const rill_option options[] = {{"text.chat_template", "lfm2.5"}};
    rill_model_options open = {};
    open.struct_size = sizeof(open);
    open.options = options;
    open.num_options = 1;
    open.for_text = 1;
    const std::string path = std::string(RILL_SOURCE_DIR) + "/assets/demo";
    ASSERT_EQ(rill_model_open(engine_, path.c_str(), &open, &model_, nullptr), RILL_OK);
    ASSERT_EQ(rill_session_create(model_, &session_, nullptr), RILL_OK);
  }
  void TearDown() override {
    rill_session_destroy(session_);
    rill_model_destroy(model_);
    rill_engine_destroy(engine_);
  }
  /// Completes a text; returns the reply, and how many steps were not computed.
  static std::string complete(rill_session* session, const std::string& prompt, size_t& cached) {
    rill_request* request = nullptr;
    rill_result* result = nullptr;
    EXPECT_EQ(rill_request_create(RILL_TASK_COMPLETE, &request, nullptr), RILL_OK);
    EXPECT_EQ(rill_request_set_text(request, prompt.data(), prompt.size(), nullptr), RILL_OK);
    EXPECT_EQ(rill_request_set_option(request, "max_tokens", "4", nullptr), RILL_OK);
    EXPECT_EQ(rill_request_set_option(request, "temperature", "0", nullptr), RILL_OK);
    EXPECT_EQ(rill_session_run(session, request, &result, nullptr), RILL_OK);
    rill_usage usage = {};
    usage.struct_size = sizeof(usage);
    std::string text;
    if (result != nullptr) {
      EXPECT_EQ(rill_result_usage(result, &usage, nullptr), RILL_OK);
      text = rill_result_text(result, nullptr);
    }
    cached = usage.cached_steps;
    rill_result_destroy(result);
    rill_request_destroy(request);
    return text;
  }

  rill_engine* engine_ = nullptr;
  rill_model* model_ = nullptr;
  rill_session* session_ = nullptr;
};

TEST_F(RillState, NeedsATextRequest) {
  rill_state* state = nullptr;
  EXPECT_EQ(rill_state_create(session_, &state, nullptr), RILL_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(rill_state_create(nullptr, &state, nullptr), RILL_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(rill_state_steps(nullptr), 0u);
  rill_state_destroy(nullptr);
}

TEST_F(RillState, IsClonedSavedRestoredAndTakenUpAgain) {
  const std::string prompt = "The quick brown fox jumps over the lazy dog";
  const std::string path = testing::TempDir() + "rill_api_state_test.state";
  size_t cached = 0;
  const std::string reply = complete(session_, prompt, cached);
  rill_state* state = nullptr;
  rill_state* copy = nullptr;
  ASSERT_EQ(rill_state_create(session_, &state, nullptr), RILL_OK);
  ASSERT_EQ(rill_state_clone(state, &copy, nullptr), RILL_OK);
  EXPECT_GT(rill_state_steps(state), 3u);
  EXPECT_EQ(rill_state_steps(copy), rill_state_steps(state));
  ASSERT_EQ(rill_state_save(copy, path.c_str(), nullptr), RILL_OK);
  rill_state_destroy(state);
  rill_state_destroy(copy);

  rill_state* restored = nullptr;
  ASSERT_EQ(rill_state_restore(model_, path.c_str(), &restored, nullptr), RILL_OK);
  rill_session* other = nullptr;
  ASSERT_EQ(rill_session_create(model_, &other, nullptr), RILL_OK);
  ASSERT_EQ(rill_session_set_state(other, restored, nullptr), RILL_OK);
  EXPECT_EQ(complete(other, prompt, cached), reply);
  EXPECT_GT(cached, 0u);
  rill_session_destroy(other);
  rill_state_destroy(restored);
  std::remove(path.c_str());
  EXPECT_EQ(rill_state_restore(model_, path.c_str(), &restored, nullptr), RILL_ERROR_NOT_FOUND);
}

TEST_F(RillState, IsRefusedByAnotherTokenizer) {
  size_t cached = 0;
  complete(session_, "The quick brown fox", cached);
  rill_state* state = nullptr;
  ASSERT_EQ(rill_state_create(session_, &state, nullptr), RILL_OK);
  const std::string path = testing::TempDir() + "rill_api_state_test.state";
  ASSERT_EQ(rill_state_save(state, path.c_str(), nullptr), RILL_OK);
  rill_state_destroy(state);

  // The same weights with another text for one token.
  std::ifstream file(std::string(RILL_SOURCE_DIR) + "/assets/demo/demo-Q8_0.gguf",
                     std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t at = bytes.find("<|fim_mid|>");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 2] = 'x';
  const std::string model_path = testing::TempDir() + "rill_api_state_test.gguf";
  std::ofstream(model_path, std::ios::binary) << bytes;
  const rill_option options[] = {{"text.chat_template", "lfm2.5"}};
  rill_model_options open = {};
  open.struct_size = sizeof(open);
  open.options = options;
  open.num_options = 1;
  rill_model* other = nullptr;
  ASSERT_EQ(rill_model_open(engine_, model_path.c_str(), &open, &other, nullptr), RILL_OK);
  rill_state* restored = nullptr;
  rill_error* error = nullptr;
  EXPECT_EQ(rill_state_restore(other, path.c_str(), &restored, &error),
            RILL_ERROR_INVALID_ARGUMENT);
  ASSERT_NE(error, nullptr);
  const std::string message = rill_error_message(error);
  EXPECT_NE(message.find(": tokenizer: got a state of "), std::string::npos) << message;
  rill_error_destroy(error);
  rill_model_destroy(other);
  std::remove(model_path.c_str());
  std::remove(path.c_str());
}

}  // namespace
