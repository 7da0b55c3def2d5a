// SPDX-License-Identifier: Apache-2.0
#include "measure/lookup_speed.h"

#include <utility>
#include <vector>

#include "measure/repeat.h"
#include "session/generator.h"

namespace rill::measure {
namespace {

using model::lfm2::Backbone;
using session::GenerateOptions;
using session::Sequence;

constexpr size_t kPassage = 64;  // tokens
constexpr size_t kReply = 64;

/// A text to go on with. Repetitive: the reply is forced to say the passage again, as an edited
/// document or a quotation would. Otherwise the model goes on as it likes, at random.
struct Text {
  const char* name;
  bool repetitive;
};

/// Allows one given token after the other: it makes a reply repetitive whatever the weights are.
class Dictation : public session::TokenConstraint {
 public:
  explicit Dictation(std::vector<int32_t> tokens) : tokens_(std::move(tokens)) {}
  Status allowed(std::span<uint64_t> words) override {
    for (uint64_t& word : words) word = 0;
    const auto token = static_cast<size_t>(tokens_[next_ % tokens_.size()]);
    words[token / 64] = uint64_t{1} << token % 64;
    return {};
  }
  Status accept(int32_t) override {
    ++next_;
    return {};
  }

 private:
  std::vector<int32_t> tokens_;
  size_t next_ = 0;
};

struct Run {
  std::vector<int32_t> reply;
  double tokens_per_s = 0;
};

Result<Run> run(ops::Context& context, const Sequence& prompt, const std::vector<int32_t>& passage,
                const Text& text, size_t guesses) {
  Sequence sequence = prompt.clone();
  RILL_RETURN_IF_ERROR(sequence.reserve(kReply + 1));
  GenerateOptions options;
  options.max_tokens = kReply;
  options.prompt_lookup = guesses;
  options.sampler.temperature = text.repetitive ? 0.0f : 1.0f;
  options.sampler.seed = 7;
  session::Generator generator(sequence, options);
  generator.observe_prompt(passage);
  Dictation dictation(passage);
  if (text.repetitive) generator.set_constraint(&dictation);
  Run result;
  const auto start = Clock::now();
  while (true) {
    RILL_ASSIGN_OR_RETURN(const auto token, generator.next(context));
    if (!token) break;
    result.reply.push_back(*token);
  }
  result.tokens_per_s = static_cast<double>(result.reply.size()) / seconds_since(start);
  return result;
}

Result<Json> measure_text(ops::Context& context, const Sequence& prompt,
                          const std::vector<int32_t>& passage, const Text& text,
                          const SpeedOptions& options) {
  RILL_ASSIGN_OR_RETURN(const Run plain, run(context, prompt, passage, text, 0));
  RILL_ASSIGN_OR_RETURN(const Run ahead,
                        run(context, prompt, passage, text, options.prompt_lookup));
  if (plain.reply != ahead.reply)
    return Error{ErrorCode::kInternal, "bench: prompt lookup changed the reply"};
  std::vector<double> plain_rates;
  std::vector<double> rates;
  for (size_t i = 0; i < options.repeat; ++i) {
    RILL_ASSIGN_OR_RETURN(const Run a, run(context, prompt, passage, text, 0));
    RILL_ASSIGN_OR_RETURN(const Run b, run(context, prompt, passage, text, options.prompt_lookup));
    plain_rates.push_back(a.tokens_per_s);
    rates.push_back(b.tokens_per_s);
  }
  Json entry = Json::object();
  entry.set("text", Json::string(text.name));
  set_statistics(entry, "plain_tokens_per_s", std::move(plain_rates));
  set_statistics(entry, "lookup_tokens_per_s", std::move(rates));
  return entry;
}

}  // namespace

Result<Json> measure_lookup(ops::Context& context, const Backbone& backbone,
                            const SpeedOptions& options) {
  const std::vector<int32_t> passage = make_tokens(kPassage, backbone.config().vocab_size);
  RILL_ASSIGN_OR_RETURN(Sequence prompt, Sequence::create(backbone, options.kv_type));
  RILL_RETURN_IF_ERROR(prompt.append_tokens(context, passage));
  Json list = Json::array();
  for (const Text& text : {Text{"repetitive", true}, Text{"normal", false}}) {
    RILL_ASSIGN_OR_RETURN(Json entry, measure_text(context, prompt, passage, text, options));
    list.items().push_back(std::move(entry));
  }
  return list;
}

}  // namespace rill::measure
