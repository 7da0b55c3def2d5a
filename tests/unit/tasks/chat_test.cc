// SPDX-License-Identifier: Apache-2.0
#include "tasks/chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/str_cat.h"
#include "support/test_data.h"
#include "tasks/complete.h"
#include "unit/tasks/task_support.h"

namespace rill::tasks {
namespace {

const std::string kTinyModel = test::data_path("models/text/gguf/dense_a-mixed.gguf");

/// A tiny model of random weights: what it says means nothing, but how it is said can be checked.
struct Chat {
  explicit Chat(size_t threads = 2, TextModelOptions options = {}) : machine(threads) {
    if (options.chat_template.empty()) options.chat_template = "lfm2.5";
    auto opened = TextModel::open(kTinyModel, options, *machine.pool);
    RILL_CHECK(opened.has_value(), "tiny model");
    model = std::move(opened).value();
  }

  static Json message(const char* role, const std::string& content) {
    Json out = Json::object();
    out.set("role", Json::string(role));
    out.set("content", Json::string(content));
    return out;
  }
  static ChatRequest request(const std::string& user, size_t max_tokens = 12) {
    ChatRequest out;
    out.messages.items().push_back(message("user", user));
    out.options.temperature = 0.9f;
    out.options.min_p = 0.0f;
    out.options.seed = 7;
    out.options.max_tokens = max_tokens;
    return out;
  }
  /// A request whose every reply token is the same word, which reads back as it was written.
  static ChatRequest parrot(const std::string& user, size_t max_tokens, int32_t token) {
    ChatRequest out = request(user, max_tokens);
    out.options.temperature = 0.0f;
    out.options.repetition_penalty = 1.0f;
    out.options.logit_bias = {{token, 1000.0f}};
    return out;
  }
  int32_t token(const std::string& text) const {
    const auto ids = model->tokenizer().encode(text);
    RILL_CHECK(ids.has_value() && ids->size() == 1, "one token");
    return (*ids)[0];
  }

  struct Streamed {
    std::string content;
    std::string reasoning;
    size_t events = 0;
    ReplyResult result;
  };
  Result<Streamed> run(Result<ReplyStream> stream) {
    if (!stream) return std::move(stream).error();
    Streamed out;
    while (true) {
      RILL_ASSIGN_OR_RETURN(const auto event, stream->next(machine.context));
      if (!event) break;
      ++out.events;
      if (event->choice != 0) continue;
      out.content += event->delta.content;
      out.reasoning += event->delta.reasoning;
    }
    out.result = stream->result();
    return out;
  }
  Streamed chat(const ChatRequest& request) {
    auto out = run(start_chat(*model, request, {&cache, &cancel}));
    RILL_CHECK(out.has_value(), "chat");
    return std::move(out).value();
  }
  Streamed complete(const CompleteRequest& request) {
    auto out = run(start_completion(*model, request, {&cache, &cancel}));
    RILL_CHECK(out.has_value(), "completion");
    return std::move(out).value();
  }

  Machine machine;
  std::unique_ptr<TextModel> model;
  session::PrefixCache cache{8};
  std::atomic<bool> cancel{false};
};

const text::Reply& first(const Chat::Streamed& run) { return run.result.choices.at(0).reply; }

TEST(Chat, EventsAddUpToTheResult) {
  Chat chat;
  const auto run = chat.chat(Chat::request("Hello", 40));
  EXPECT_EQ(run.content, first(run).content);
  EXPECT_EQ(run.reasoning, first(run).reasoning);
  EXPECT_GT(run.events, 5u);
  EXPECT_EQ(run.result.choices[0].finish, FinishReason::kLength);
  EXPECT_EQ(run.result.usage.completion_tokens, 40u);
}

TEST(Chat, ThreadsAndCacheChangeNothing) {
  std::set<std::string> replies;
  for (const size_t threads : {1, 2, 3}) {
    Chat chat(threads);
    for (int again = 0; again < 2; ++again)
      replies.insert(chat.chat(Chat::request("Tell me a story", 24)).content);
  }
  EXPECT_EQ(replies.size(), 1u);
}

TEST(Chat, PromptIsTheTemplates) {
  Chat chat;
  ChatRequest request = Chat::request("Hi");
  const auto prompt = make_chat_prompt(*chat.model, request);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->text, "<|startoftext|><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompt->tokens.front(), 1);
  EXPECT_EQ(prompt->tokens[1], 6);
}

TEST(Chat, SpecialTextInContentIsReadAsSpecialTokens) {
  // As the reference does: the rendered prompt is encoded as a whole.
  Chat chat;
  const auto prompt = make_chat_prompt(*chat.model, Chat::request("a<|im_end|>b"));
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(std::count(prompt->tokens.begin(), prompt->tokens.end(), 7), 2);
}

TEST(Chat, SaysWhichTemplateSwitchHasNoEffect) {
  Chat chat;
  ChatRequest request = Chat::request("Hi");
  request.options.template_kwargs.set("no_such_switch", Json::boolean(true));
  request.options.template_kwargs.set("preserve_thinking", Json::boolean(true));
  const auto prompt = make_chat_prompt(*chat.model, request);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->ignored, std::vector<std::string>{"chat_template_kwargs.no_such_switch"});
}

TEST(Chat, FaultsInMessagesNameTheirPath) {
  Chat chat;
  ChatRequest request = Chat::request("Hi");
  request.messages.items().push_back(Json::object());
  const auto stream = start_chat(*chat.model, request, {});
  ASSERT_FALSE(stream.has_value());
  EXPECT_NE(stream.error().message.find("messages[1].role"), std::string::npos);
}

TEST(Chat, PromptThatCannotFitIsRefusedWithTheNumbers) {
  TextModelOptions options;
  options.context_length = 20;
  Chat chat(1, options);
  const auto stream =
      start_chat(*chat.model, Chat::request("one two three four five six seven eight nine"), {});
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code, ErrorCode::kContextFull);
  EXPECT_NE(stream.error().message.find("20 of the context"), std::string::npos);
}

TEST(Chat, FullContextEndsTheReply) {
  TextModelOptions options;
  options.context_length = 32;
  Chat chat(1, options);
  ChatRequest request = Chat::request("Hi", 1000);
  request.options.ignore_eos = true;
  const auto run = chat.chat(request);
  EXPECT_EQ(run.result.choices[0].finish, FinishReason::kLength);
  EXPECT_EQ(run.result.usage.prompt_tokens + run.result.usage.completion_tokens, 32u);
}

TEST(Chat, CancelKeepsWhatWasSaid) {
  Chat chat;
  auto stream = start_chat(*chat.model, Chat::request("Hello", 100), {&chat.cache, &chat.cancel});
  ASSERT_TRUE(stream.has_value());
  std::string content;
  for (int i = 0; i < 5; ++i) {
    const auto event = stream->next(chat.machine.context);
    ASSERT_TRUE(event.has_value() && event->has_value());
    content += (*event)->delta.content;
  }
  chat.cancel = true;
  while (true) {
    const auto event = stream->next(chat.machine.context);
    ASSERT_TRUE(event.has_value());
    if (!*event) break;
    content += (*event)->delta.content;
  }
  EXPECT_EQ(stream->result().choices[0].finish, FinishReason::kCancelled);
  EXPECT_EQ(stream->result().choices[0].reply.content, content);
  EXPECT_FALSE(content.empty());
}

TEST(Chat, CancelBeforeTheFirstTokenIsAnError) {
  Chat chat;
  chat.cancel = true;
  auto stream = start_chat(*chat.model, Chat::request("Hello"), {&chat.cache, &chat.cancel});
  ASSERT_TRUE(stream.has_value());
  const auto event = stream->next(chat.machine.context);
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, ErrorCode::kCancelled);
}

TEST(Chat, SeveralRepliesDifferAndShareThePrompt) {
  Chat chat;
  ChatRequest request = Chat::request("Hello", 16);
  request.options.n = 3;
  const auto run = chat.chat(request);
  ASSERT_EQ(run.result.choices.size(), 3u);
  std::set<std::string> contents;
  for (const ReplyChoice& choice : run.result.choices) contents.insert(choice.reply.content);
  EXPECT_EQ(contents.size(), 3u);
  EXPECT_EQ(run.result.usage.completion_tokens, 48u);
  // The first is the one that it would be alone.
  EXPECT_TRUE(contents.contains(first(chat.chat(Chat::request("Hello", 16))).content));
}

TEST(Chat, StopTextEndsTheReplyAtAnyPlace) {
  Chat chat;
  ChatRequest request = Chat::request("Hello", 30);
  const std::string whole = first(chat.chat(request)).content;
  ASSERT_GT(whole.size(), 12u);
  // Cut out of what it would say: inside tokens and across them.
  for (size_t begin = 1; begin + 4 < whole.size(); begin += 3) {
    ChatRequest stopped = request;
    const std::string stop = whole.substr(begin, 4);
    if ((static_cast<unsigned char>(stop[0]) & 0xC0) == 0x80) continue;
    stopped.options.stop = {stop, "never said"};
    const auto run = chat.chat(stopped);
    const std::string expected = whole.substr(0, whole.find(stop));
    // Blanks at the end wait for more text, which does not come.
    EXPECT_EQ(first(run).content, expected) << begin;
    EXPECT_EQ(run.content, expected);
    EXPECT_EQ(run.result.choices[0].finish, FinishReason::kStop);
  }
}

TEST(Chat, LogprobsAreADistribution) {
  Chat chat;
  ChatRequest request = Chat::request("Hello", 6);
  request.options.top_logprobs = 1000;
  const auto run = chat.chat(request);
  const auto& logprobs = run.result.choices[0].logprobs;
  ASSERT_EQ(logprobs.size(), 6u);
  for (const TokenLogprob& token : logprobs) {
    double sum = 0;
    bool has_own = false;
    for (const auto& [id, logprob] : token.top) {
      sum += std::exp(static_cast<double>(logprob));
      has_own = has_own || (id == token.id && logprob == token.logprob);
    }
    EXPECT_GT(sum, 0.9);  // 1000 of 1024 tokens
    EXPECT_LT(sum, 1.0001);
    EXPECT_TRUE(has_own);
    EXPECT_GE(token.top[0].second, token.logprob);
  }
}

TEST(Chat, TokensOfAStopTextAreNotReported) {
  Chat chat;
  ChatRequest request = Chat::parrot("Hello", 5, chat.token(" the"));
  request.options.top_logprobs = 0;
  request.options.stop = {"the the"};
  const auto run = chat.chat(request);
  EXPECT_EQ(first(run).content, " ");
  EXPECT_EQ(run.result.choices[0].logprobs.size(), 1u);
}

TEST(Chat, ThinkingOffClosesReasoningAtOnce) {
  Chat chat;
  ChatRequest request = Chat::request("Hello", 6);
  // The model opens its reasoning whenever it may.
  request.options.logit_bias = {{*chat.model->think_open_id(), 50.0f}};
  request.options.temperature = 0.0f;
  EXPECT_EQ(first(chat.chat(request)).content, "");
  request.options.thinking = {Thinking::Mode::kOff, 0};
  const auto run = chat.chat(request);
  EXPECT_EQ(first(run).reasoning, "");
  const auto& tokens = run.result.choices[0].tokens;
  ASSERT_GE(tokens.size(), 2u);
  EXPECT_EQ(tokens[0], *chat.model->think_open_id());
  EXPECT_EQ(tokens[1], *chat.model->think_close_id());
}

TEST(Chat, ThinkingBudgetClosesReasoningAndCountsIt) {
  TextModelOptions options;
  options.chat_template = "lfm2.5-2.6b";  // opens reasoning in the prompt
  Chat chat(2, options);
  ChatRequest request = Chat::parrot("Hello", 9, chat.token(" the"));
  request.options.thinking = {Thinking::Mode::kBudget, 4};
  const auto run = chat.chat(request);
  EXPECT_EQ(first(run).reasoning, "the the the the");
  EXPECT_EQ(first(run).content, "the the the the");
  EXPECT_EQ(run.result.usage.reasoning_tokens, 5u);  // with the one that closes it
}

TEST(Chat, UnclosedReasoningLeavesTheContentEmpty) {
  TextModelOptions options;
  options.chat_template = "lfm2.5-2.6b";
  Chat chat(2, options);
  const auto run = chat.chat(Chat::parrot("Hello", 5, chat.token(" the")));
  EXPECT_EQ(first(run).content, "");
  EXPECT_EQ(first(run).reasoning, "the the the the the");
  EXPECT_EQ(run.result.choices[0].finish, FinishReason::kLength);
}

// ---- What the prefix cache saves, counted.

ChatRequest with_reply(ChatRequest request, const std::string& reply, const std::string& next) {
  request.messages.items().push_back(Chat::message("assistant", reply));
  request.messages.items().push_back(Chat::message("user", next));
  return request;
}

TEST(ChatCache, SecondTurnComputesOnlyWhatIsNew) {
  Chat chat;
  std::string system;
  for (int i = 0; i < 100; ++i) system += "word ";
  ChatRequest turn = Chat::parrot("Hello", 100, chat.token(" the"));
  turn.messages.items().insert(turn.messages.items().begin(), Chat::message("system", system));
  const auto one = chat.chat(turn);
  EXPECT_EQ(one.result.usage.cached_tokens, 0u);
  const ChatRequest second = with_reply(turn, first(one).content, "And now?");
  const auto prompt = make_chat_prompt(*chat.model, second);
  ASSERT_TRUE(prompt.has_value());
  const auto two = chat.chat(second);
  // All of the first prompt and reply, but for the reply's last token, which was never computed.
  EXPECT_EQ(two.result.usage.cached_tokens, one.result.usage.prompt_tokens + 99);
  Chat fresh;
  EXPECT_EQ(first(fresh.chat(second)).content, first(two).content);
}

TEST(ChatCache, EditedLastMessageKeepsWhatIsBeforeIt) {
  Chat chat;
  std::string system;
  for (int i = 0; i < 100; ++i) system += "word ";
  ChatRequest turn = Chat::request("first question");
  turn.messages.items().insert(turn.messages.items().begin(), Chat::message("system", system));
  ASSERT_EQ(chat.chat(turn).result.usage.cached_tokens, 0u);
  turn.messages.items()[1] = Chat::message("user", "another question");
  const auto edited = chat.chat(turn);
  EXPECT_GE(edited.result.usage.cached_tokens, 64u);
  EXPECT_LT(edited.result.usage.prompt_tokens - edited.result.usage.cached_tokens, 64u + 30u);
  Chat fresh;
  EXPECT_EQ(first(fresh.chat(turn)).content, first(edited).content);
}

TEST(ChatCache, RegenerateComputesNoPrompt) {
  Chat chat;
  const ChatRequest turn = Chat::request("Tell me more");
  const auto once = chat.chat(turn);
  const auto again = chat.chat(turn);
  EXPECT_EQ(again.result.usage.cached_tokens, again.result.usage.prompt_tokens);
  EXPECT_EQ(first(once).content, first(again).content);
}

TEST(ChatCache, ChatsShareTheirSystemPrompt) {
  Chat chat;
  std::string system;
  for (int i = 0; i < 200; ++i) system += "rule ";
  for (int i = 0; i < 10; ++i) {
    ChatRequest turn = Chat::request(cat("question number ", i), 4);
    turn.messages.items().insert(turn.messages.items().begin(), Chat::message("system", system));
    const auto run = chat.chat(turn);
    if (i == 0) continue;
    EXPECT_LT(run.result.usage.prompt_tokens - run.result.usage.cached_tokens, 64u + 30u) << i;
  }
}

// ---- Raw completion.

TEST(Complete, EchoComesFirst) {
  Chat chat;
  CompleteRequest request;
  request.prompt = "Once upon a time";
  request.options = Chat::request("", 5).options;
  const std::string plain = chat.complete(request).content;
  request.options.echo = true;
  request.options.top_logprobs = 2;
  const auto run = chat.complete(request);
  EXPECT_EQ(run.content, "Once upon a time" + plain);
  // One for each token but the first of the prompt.
  const auto& logprobs = run.result.choices[0].logprobs;
  EXPECT_EQ(logprobs.size(), run.result.usage.prompt_tokens - 1 + 5);
}

TEST(Complete, PromptLogprobsAreThoseOfDecoding) {
  Chat chat;
  CompleteRequest request;
  request.prompt = "Once upon a time";
  request.options = Chat::request("", 80).options;
  request.options.top_logprobs = 3;
  const auto written = chat.complete(request);
  const auto& decoded = written.result.choices[0].logprobs;
  auto tokens = chat.model->tokenizer().encode("Once upon a time", {.add_bos = true});
  ASSERT_TRUE(tokens.has_value());
  const size_t prompt_size = tokens->size();
  for (const TokenLogprob& token : decoded) tokens->push_back(token.id);
  const auto read = prompt_logprobs(chat.machine.context, *chat.model, *tokens, 3, nullptr);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), tokens->size() - 1);
  for (size_t i = 0; i < decoded.size(); ++i) {
    EXPECT_EQ((*read)[prompt_size - 1 + i].logprob, decoded[i].logprob);
    EXPECT_EQ((*read)[prompt_size - 1 + i].top, decoded[i].top);
  }
}

TEST(Complete, TokensAreTakenAsTheyAre) {
  Chat chat;
  CompleteRequest request;
  request.tokens = std::vector<int32_t>{1, 300, 301};
  request.options = Chat::request("", 3).options;
  EXPECT_EQ(chat.complete(request).result.usage.prompt_tokens, 3u);
  request.tokens = std::vector<int32_t>{5000};
  EXPECT_FALSE(start_completion(*chat.model, request, {}).has_value());
  request.tokens = std::vector<int32_t>{};
  EXPECT_FALSE(start_completion(*chat.model, request, {}).has_value());
}

// ---- Opening.

TEST(TextModel, OpensATransformersDirectory) {
  namespace fs = std::filesystem;
  const fs::path folder = test::temp_path("transformers");
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path data = test::data_path("");
  fs::copy_file(data / "models/text/models/dense_a/config.json", folder / "config.json");
  fs::copy_file(data / "models/text/models/dense_a/model-bf16.safetensors",
                folder / "model.safetensors");
  fs::copy_file(data / "text/tokenizer/tokenizer.json", folder / "tokenizer.json");
  std::ofstream(folder / "generation_config.json")
      << R"({"temperature": 0.7, "top_k": 5, "eos_token_id": [7, 9]})";
  std::ofstream(folder / "chat_template.jinja") << "{{ messages[0].content }}";
  Machine machine(1);
  const auto model = TextModel::open(folder.string(), {}, *machine.pool);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ((*model)->defaults().temperature, 0.7f);
  EXPECT_EQ((*model)->defaults().top_k, 5u);
  EXPECT_EQ((*model)->defaults().min_p, 0.0f);  // one who states settings states all
  const auto ids = (*model)->end_ids();
  EXPECT_EQ((std::vector<int32_t>(ids.begin(), ids.end())), (std::vector<int32_t>{2, 7, 9}));
  const auto prompt = make_chat_prompt(**model, Chat::request("plain"));
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->text, "plain");
  std::ofstream(folder / "chat_template.jinja") << "{% nosuch %}";
  EXPECT_FALSE(TextModel::open(folder.string(), {}, *machine.pool).has_value());
  fs::remove_all(folder);
}

TEST(TextModel, NamesAMissingPath) {
  Machine machine(1);
  const auto missing = TextModel::open(test::data_path("nosuch"), {}, *machine.pool);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(TextModel, OpensThePackagesBackbone) {
  Machine machine(1);
  const auto model = TextModel::open(kDemoPackage, {}, *machine.pool);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ((*model)->name(), "Rill demo");
  EXPECT_EQ((*model)->chat_template_name(), "model");
}

TEST(TextModel, RefusesUnknownTemplates) {
  Machine machine(1);
  TextModelOptions options;
  options.chat_template = "nosuch";
  const auto model = TextModel::open(kTinyModel, options, *machine.pool);
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("lfm2.5-2.6b"), std::string::npos);
}

}  // namespace
}  // namespace rill::tasks
