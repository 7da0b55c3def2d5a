// SPDX-License-Identifier: Apache-2.0
// Subjects tts, s2s and conversation of an audio set. Replies are fed with the reference's steps,
// so that each step is judged alone; the picks that this engine would make must be the reference's.
#include "verify/audio_speech.h"

#include <algorithm>
#include <cstring>

#include "model/depthformer/depthformer.h"
#include "model/detokenizer/detokenizer.h"
#include "ops/elementwise.h"
#include "session/sequence.h"
#include "verify/audio_support.h"

namespace rill::verify {
namespace {

using model::lfm2_audio::Use;
using session::Sequence;
using session::StepInput;

/// A step of the set: one number is a text token, a list the codes of a frame.
using Step = std::vector<int32_t>;

Result<std::vector<Step>> read_steps(const Json& entry, std::string_view where) {
  const Json* list = entry.find("steps");
  if (list == nullptr || !list->is_array()) {
    return Error{ErrorCode::kInvalidFormat, cat("read set: ", where, ": 'steps' is missing")};
  }
  std::vector<Step> steps;
  for (const Json& item : list->items()) {
    Step step;
    if (item.is_int()) step.push_back(static_cast<int32_t>(item.as_int()));
    if (item.is_array()) {
      for (const Json& code : item.items()) {
        if (code.is_int()) step.push_back(static_cast<int32_t>(code.as_int()));
      }
    }
    if (step.empty())
      return Error{ErrorCode::kInvalidFormat, cat("read set: ", where, ": an empty step")};
    steps.push_back(std::move(step));
  }
  return steps;
}

/// What a reply gave, in the order of the set's tensors.
struct ReplyTrace {
  std::vector<float> text_logits;
  std::vector<float> frame_hidden;
  std::vector<float>
      depth_logits;  // of an end frame only the first codebook: the reference overwrites its codes
  std::vector<float> depth_expected;
  std::vector<float> waveform;
  size_t wrong_picks = 0;
};

class ReplyReplay {
 public:
  ReplyReplay(Run& run, const Model& model, Sequence sequence,
              model::depthformer::FrameDecoder decoder)
      : run_(run), model_(model), sequence_(std::move(sequence)), decoder_(std::move(decoder)) {
    end_code_ = static_cast<int32_t>(model.speech()->depthformer().config().end_code());
  }

  /// Runs the steps. `depth` holds the expected logits of all frames, or is empty.
  Status replay(const std::vector<Step>& steps, std::span<const float> depth, size_t text_rows) {
    for (const Step& step : steps) {
      RILL_RETURN_IF_ERROR(step.size() == 1 ? text_step(step[0]) : frame_step(step, depth));
    }
    // The reference may hold the logits that chose <|im_end|>, which is no step.
    if (text_rows_ < text_rows) {
      RILL_ASSIGN_OR_RETURN(const int32_t token, pick_text());
      trace.wrong_picks += token != model_.special_ids().im_end ? 1 : 0;
    }
    return speak(steps);
  }

  ReplyTrace trace;

 private:
  Result<int32_t> pick_text() {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence_.logits(run_.context));
    trace.text_logits.insert(trace.text_logits.end(), logits.begin(), logits.end());
    ++text_rows_;
    return static_cast<int32_t>(ops::argmax(logits));
  }

  Status text_step(int32_t expected) {
    RILL_ASSIGN_OR_RETURN(const int32_t token, pick_text());
    trace.wrong_picks += token != expected ? 1 : 0;
    return sequence_.append_token(run_.context, expected);
  }

  Status frame_step(const Step& codes, std::span<const float> depth) {
    const auto hidden = sequence_.hidden();
    trace.frame_hidden.insert(trace.frame_hidden.end(), hidden.begin(), hidden.end());
    RILL_RETURN_IF_ERROR(decoder_.begin(run_.context, hidden));
    const bool is_end = codes[0] == end_code_;
    for (size_t i = 0; i < codes.size(); ++i) {
      RILL_ASSIGN_OR_RETURN(const auto logits,
                            decoder_.next(run_.context, i == 0 ? 0 : codes[i - 1]));
      const size_t at = (frames_ * codes.size() + i) * logits.size();
      if ((is_end && i > 0) || at + logits.size() > depth.size()) continue;
      trace.depth_logits.insert(trace.depth_logits.end(), logits.begin(), logits.end());
      const auto want = depth.subspan(at, logits.size());
      trace.depth_expected.insert(trace.depth_expected.end(), want.begin(), want.end());
      trace.wrong_picks += static_cast<int32_t>(ops::argmax(logits)) != codes[i] ? 1 : 0;
    }
    ++frames_;
    std::vector<float> row(model_.backbone().config().hidden_size);
    RILL_RETURN_IF_ERROR(model_.speech()->embed_frame(run_.context, codes, row));
    const StepInput input = StepInput::of_row(row);
    return sequence_.append(run_.context, {&input, 1});
  }

  /// The sound of the frames without an end code.
  Status speak(const std::vector<Step>& steps) {
    RILL_ASSIGN_OR_RETURN(auto stream,
                          model::detokenizer::Stream::create(model_.speech()->detokenizer()));
    for (const Step& step : steps) {
      if (step.size() == 1 || std::find(step.begin(), step.end(), end_code_) != step.end())
        continue;
      RILL_RETURN_IF_ERROR(stream.push(run_.context, step, trace.waveform));
    }
    stream.finish(trace.waveform);
    return {};
  }

  Run& run_;
  const Model& model_;
  Sequence sequence_;
  model::depthformer::FrameDecoder decoder_;
  int32_t end_code_ = 0;
  size_t text_rows_ = 0;
  size_t frames_ = 0;
};

/// The prompts of a set as rows.
class PromptRows {
 public:
  static Result<PromptRows> open(const Run& run) {
    PromptRows rows;
    RILL_ASSIGN_OR_RETURN(rows.prompts_, read_json(vectors_path(run, "prompts", "json")));
    return rows;
  }

  /// Rows [T, D] of the prompt `key`; `clips` are its questions in order.
  Result<Tensor> make(Run& run, const Model& model, const std::string& key,
                      const std::vector<std::string>& clips) const {
    const Json* entry = prompts_.find(key);
    if (entry == nullptr)
      return Error{ErrorCode::kNotFound, cat("read set: vectors/prompts.json: no '", key, "'")};
    RILL_ASSIGN_OR_RETURN(const auto ids, json_ids(*entry, "ids", key));
    std::vector<Tensor> speech;
    for (const std::string& clip : clips) {
      RILL_ASSIGN_OR_RETURN(const Tensor mel, features_of(run, clip));
      RILL_ASSIGN_OR_RETURN(Tensor rows, embed_clip(run, model, mel, nullptr));
      speech.push_back(std::move(rows));
    }
    const size_t width = model.backbone().config().hidden_size;
    RILL_ASSIGN_OR_RETURN(Tensor out, Tensor::create(ids.size(), width));
    size_t clip = 0;
    size_t speech_row = 0;
    size_t frame = 0;
    for (size_t t = 0; t < ids.size(); ++t) {
      const std::span<float> row(out.mat().row(t), width);
      if (ids[t] == model::lfm2_audio::kAudioStep) {
        while (clip < speech.size() && speech_row == speech[clip].rows()) {
          ++clip;
          speech_row = 0;
        }
        if (clip == speech.size())
          return Error{ErrorCode::kInvalidFormat, cat("read set: ", key, ": too many audio steps")};
        std::memcpy(row.data(), speech[clip].mat().row(speech_row++), width * sizeof(float));
      } else if (ids[t] == model::lfm2_audio::kFrameStep) {
        RILL_ASSIGN_OR_RETURN(const Step codes, frame_codes(*entry, frame++, key));
        RILL_RETURN_IF_ERROR(model.speech()->embed_frame(run.context, codes, row));
      } else {
        RILL_RETURN_IF_ERROR(model.backbone().embed(ids[t], row));
      }
    }
    return out;
  }

 private:
  static Result<Step> frame_codes(const Json& entry, size_t index, const std::string& key) {
    const Json* list = entry.find("frame_codes");
    if (list == nullptr || !list->is_array() || index >= list->items().size() ||
        !list->items()[index].is_array()) {
      return Error{ErrorCode::kInvalidFormat,
                   cat("read set: ", key, ": no codes for frame ", index)};
    }
    Step codes;
    for (const Json& code : list->items()[index].items()) {
      if (code.is_int()) codes.push_back(static_cast<int32_t>(code.as_int()));
    }
    return codes;
  }

  Json prompts_;
};

Result<Sequence> prefill(Run& run, const Model& model, const Tensor& rows) {
  RILL_ASSIGN_OR_RETURN(auto sequence, Sequence::create(model.backbone(), DType::kF32));
  std::vector<StepInput> steps;
  for (size_t t = 0; t < rows.rows(); ++t)
    steps.push_back(StepInput::of_row({rows.mat().row(t), rows.cols()}));
  RILL_RETURN_IF_ERROR(sequence.append(run.context, steps));
  return sequence;
}

void compare(Report& report, const std::string& stage, std::span<const float> got,
             const ExpectedTensors& vectors, const std::string& tensor, double tolerance) {
  if (!vectors.has(tensor)) return;
  const auto want = vectors.floats(tensor);
  if (!want) return report.failed(stage, want.error().message);
  report.floats(stage, got, want->values, tolerance);
}

/// One reply of a subject: prompt, steps, sound.
Status compare_reply(Run& run, const std::string& label, const Model& model, const Json& entry,
                     const std::string& key, const Tensor& prompt, const ExpectedTensors& vectors,
                     Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto steps, read_steps(entry, key));
  RILL_ASSIGN_OR_RETURN(auto sequence, prefill(run, model, prompt));
  RILL_ASSIGN_OR_RETURN(auto decoder,
                        model::depthformer::FrameDecoder::create(model.speech()->depthformer()));
  ExpectedTensor depth;
  if (vectors.has(key + ".depth_logits")) {
    RILL_ASSIGN_OR_RETURN(depth, vectors.floats(key + ".depth_logits"));
  }
  size_t text_rows = 0;
  if (vectors.has(key + ".text_logits")) {
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor text, vectors.floats(key + ".text_logits"));
    text_rows = text.shape.rows();
  }
  ReplyReplay replay(run, model, std::move(sequence), std::move(decoder));
  RILL_RETURN_IF_ERROR(replay.replay(steps, depth.values, text_rows));
  const std::string stage = cat(label, " ", key);
  const double hidden = run.tolerances.hidden;
  compare(report, stage + ".text_logits", replay.trace.text_logits, vectors, key + ".text_logits",
          hidden);
  compare(report, stage + ".frame_hidden", replay.trace.frame_hidden, vectors,
          key + ".frame_hidden", hidden);
  if (!depth.values.empty()) {
    report.floats(stage + ".depth_logits", replay.trace.depth_logits, replay.trace.depth_expected,
                  hidden);
  }
  compare(report, stage + ".waveform", replay.trace.waveform, vectors, key + ".waveform",
          run.tolerances.waveform);
  report.mismatches(stage + ".picks", replay.trace.wrong_picks, "fed with the reference's steps");
  return {};
}

/// Questions of the prompt of an S2S run: clips of a conversation, or the clip that the run is
/// named after.
Result<std::vector<std::string>> questions_of(const Run& run, const std::string& key,
                                              const std::string& prompt_key) {
  if (!key.starts_with("conversation_")) return std::vector<std::string>{prompt_key.substr(4)};
  RILL_ASSIGN_OR_RETURN(const Json conversation,
                        read_json(vectors_path(run, "conversation", "json")));
  std::vector<std::string> clips;
  for (const auto& [language, turns] : conversation.members()) {
    if (!turns.is_array() || !key.starts_with("conversation_" + language + "_")) continue;
    for (const Json& turn : turns.items()) {
      RILL_ASSIGN_OR_RETURN(const std::string clip,
                            json_string(turn, "question", "vectors/conversation.json"));
      RILL_ASSIGN_OR_RETURN(const std::string reply,
                            json_string(turn, "reply_key", "vectors/conversation.json"));
      clips.push_back(clip);
      if (reply == key) return clips;
    }
  }
  return Error{ErrorCode::kInvalidFormat,
               cat("read set: vectors/conversation.json: no turn '", key, "'")};
}

/// "clip_hello_na12_max10" runs on the prompt "s2s_clip_hello".
std::string prompt_of(const std::string& key) {
  if (key.starts_with("conversation_")) return key;
  return "s2s_" + key.substr(0, key.rfind("_na"));
}

Status compare_runs(Run& run, const std::string& label, const Model& model,
                    const std::string& subject, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors, ExpectedTensors::open(vectors_path(run, subject)));
  RILL_ASSIGN_OR_RETURN(const Json runs, read_json(vectors_path(run, subject, "json")));
  RILL_ASSIGN_OR_RETURN(const PromptRows rows, PromptRows::open(run));
  if (!runs.is_object())
    return Error{ErrorCode::kInvalidFormat,
                 cat("read set: vectors/", subject, ".json: not an object")};
  for (const auto& [key, entry] : runs.members()) {
    const bool tts = subject == "tts";
    const std::string prompt_key = tts ? "tts_" + key : prompt_of(key);
    std::vector<std::string> clips;
    if (!tts) {
      RILL_ASSIGN_OR_RETURN(clips, questions_of(run, key, prompt_key));
    }
    RILL_ASSIGN_OR_RETURN(const Tensor prompt, rows.make(run, model, prompt_key, clips));
    if (vectors.has(key + ".prefill_out")) {
      RILL_ASSIGN_OR_RETURN(Tensor hidden, Tensor::create(prompt.rows(), prompt.cols()));
      RILL_ASSIGN_OR_RETURN(
          auto state, model::lfm2::SequenceState::create(model.backbone().config(), DType::kF32));
      RILL_RETURN_IF_ERROR(
          model.backbone().forward(run.context, prompt.mat(), state, hidden.mat()));
      compare(report, cat(label, " ", key, ".prefill_out"),
              {hidden.data(), hidden.rows() * hidden.cols()}, vectors, key + ".prefill_out",
              run.tolerances.hidden);
    }
    RILL_RETURN_IF_ERROR(compare_reply(run, label, model, entry, key, prompt, vectors, report));
  }
  return {};
}

Status compare_conversation(Run& run, const std::string& label, const Model& model,
                            Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors,
                        ExpectedTensors::open(vectors_path(run, "conversation")));
  RILL_ASSIGN_OR_RETURN(const PromptRows rows, PromptRows::open(run));
  for (const NamedTensor& tensor : vectors.all()) {
    constexpr std::string_view kSuffix = ".prefill_in";
    if (!tensor.name.ends_with(kSuffix)) continue;
    const std::string turn = tensor.name.substr(0, tensor.name.size() - kSuffix.size());
    const std::string key = "conversation_" + turn;
    RILL_ASSIGN_OR_RETURN(const auto clips, questions_of(run, key, key));
    RILL_ASSIGN_OR_RETURN(const Tensor prompt, rows.make(run, model, key, clips));
    RILL_ASSIGN_OR_RETURN(Tensor hidden, Tensor::create(prompt.rows(), prompt.cols()));
    RILL_ASSIGN_OR_RETURN(
        auto state, model::lfm2::SequenceState::create(model.backbone().config(), DType::kF32));
    RILL_RETURN_IF_ERROR(model.backbone().forward(run.context, prompt.mat(), state, hidden.mat()));
    const size_t count = prompt.rows() * prompt.cols();
    compare(report, cat(label, " ", tensor.name), {prompt.data(), count}, vectors, tensor.name,
            run.tolerances.hidden);
    compare(report, cat(label, " ", turn, ".prefill_out"), {hidden.data(), count}, vectors,
            turn + ".prefill_out", run.tolerances.hidden);
  }
  return {};
}

}  // namespace

void verify_tts(Run& run, const std::string& name, Report& report) {
  report_failure(for_each_package(
                     run, report,
                     [&](const std::string& label, const Model& model) -> Status {
                       return has_float_weights(model)
                                  ? compare_runs(run, label, model, name, report)
                                  : Status();
                     },
                     Use::kSpeak),
                 report);
}

void verify_s2s(Run& run, const std::string& name, Report& report) {
  verify_tts(run, name, report);
}

void verify_conversation(Run& run, const std::string&, Report& report) {
  report_failure(for_each_package(
                     run, report,
                     [&](const std::string& label, const Model& model) -> Status {
                       return has_float_weights(model)
                                  ? compare_conversation(run, label, model, report)
                                  : Status();
                     },
                     Use::kSpeak),
                 report);
}

}  // namespace rill::verify
