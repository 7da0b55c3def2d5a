// SPDX-License-Identifier: Apache-2.0
#include "measure/perplexity.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "measure/load_backbone.h"
#include "measure/prediction_scores.h"

namespace rill::measure {
namespace {

using model::lfm2::Backbone;

// Positions whose logits are computed together: enough for one pass over the head to be worth it.
constexpr size_t kLogitRows = 32;

/// The scored part of a window: predictions made at positions [first, last) of its tokens.
struct Window {
  size_t begin = 0;  // in the text
  size_t first = 0;
  size_t last = 0;
};

Error bad_option(std::string_view name, size_t got, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("perplexity: ", name, ": got ", got, ", expected ", expected)};
}

Result<std::vector<int32_t>> parse_ids(std::string_view text) {
  std::vector<int32_t> ids;
  constexpr std::string_view kSpace = " \t\r\n,";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kSpace));
    const auto id = parse_uint(word);
    if (!id || *id > INT32_MAX) {
      return Error{ErrorCode::kInvalidArgument, cat("perplexity: token ids: entry ", ids.size(),
                                                    ": got '", printable(word, 20), "'")};
    }
    ids.push_back(static_cast<int32_t>(*id));
    text.remove_prefix(word.size());
  }
}

/// The text as ids, and the id that windows begin with.
struct Tokens {
  std::vector<int32_t> ids;
  std::optional<int32_t> bos;
};

Result<Tokens> tokenize(const PerplexityOptions& options, const LoadedBackbone& loaded) {
  Tokens tokens;
  if (options.text_is_ids) {
    RILL_ASSIGN_OR_RETURN(tokens.ids, parse_ids(options.text));
    return tokens;
  }
  if (!loaded.tokenizer) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("perplexity: the model has no tokenizer that reads a text, token ids do "
                     "without: ",
                     loaded.no_tokenizer)};
  }
  const text::Tokenizer& tokenizer = *loaded.tokenizer;
  const bool add_bos = tokenizer.add_bos_default() && tokenizer.bos_id().has_value();
  RILL_ASSIGN_OR_RETURN(
      tokens.ids, tokenizer.encode(options.text, {.add_bos = add_bos, .parse_special = false}));
  if (add_bos) tokens.bos = tokenizer.bos_id();
  return tokens;
}

Result<std::vector<Window>> cut_windows(const PerplexityOptions& options, size_t count,
                                        size_t context_length) {
  if (options.window < 4 || options.window > context_length)
    return bad_option("window", options.window, cat("4 to ", context_length));
  if (options.stride > options.window)
    return bad_option("stride", options.stride, "at most the window");
  if (count < 4) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("perplexity: the text has ", count, " tokens, 4 are needed")};
  }
  const size_t length = std::min(options.window, count);
  const size_t stride = options.stride == 0 ? length : std::min(options.stride, length);
  const size_t first = std::max(length / 2, length - 1 - std::min(stride, length - 1));
  std::vector<Window> windows;
  for (size_t begin = 0; begin + length <= count; begin += stride) {
    if (options.max_windows > 0 && windows.size() == options.max_windows) break;
    windows.push_back({begin, first, length - 1});
  }
  return windows;
}

/// One model at work on windows.
class Predictor {
 public:
  static Result<Predictor> create(const Backbone& backbone, size_t length, DType kv_type) {
    RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(length, backbone.config().hidden_size));
    RILL_ASSIGN_OR_RETURN(Tensor logits, Tensor::create(kLogitRows, backbone.config().vocab_size));
    return Predictor(backbone, std::move(rows), std::move(logits), kv_type);
  }

  /// Computes the hidden states of a window.
  Status run(ops::Context& context, std::span<const int32_t> ids) {
    const Mat rows = rows_.mat().row_range(0, ids.size());
    for (size_t t = 0; t < ids.size(); ++t)
      RILL_RETURN_IF_ERROR(backbone_->embed(ids[t], {rows.row(t), rows.cols}));
    RILL_ASSIGN_OR_RETURN(auto state,
                          model::lfm2::SequenceState::create(backbone_->config(), kv_type_));
    return backbone_->forward(context, rows, state, rows);
  }

  /// Logits of `count` positions from `first` on, at most kLogitRows.
  Result<ConstMat> logits(ops::Context& context, size_t first, size_t count) {
    const Mat out = logits_.mat().row_range(0, count);
    RILL_RETURN_IF_ERROR(backbone_->logits(context, rows_.mat().row_range(first, count), out));
    return ConstMat(out);
  }

 private:
  Predictor(const Backbone& backbone, Tensor rows, Tensor logits, DType kv_type)
      : backbone_(&backbone),
        rows_(std::move(rows)),
        logits_(std::move(logits)),
        kv_type_(kv_type) {}

  const Backbone* backbone_;
  Tensor rows_;
  Tensor logits_;
  DType kv_type_;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error write_error(const std::string& path) {
  return Error{ErrorCode::kIo, cat("perplexity: ", printable(path), ": ", std::strerror(errno))};
}

Result<File> open_logits(const std::string& path) {
  if (path.empty()) return File();
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return write_error(path);
  return file;
}

/// All that a run needs while it goes through the windows.
struct Run {
  const PerplexityOptions& options;
  const Tokens& tokens;
  size_t length = 0;
  Predictor model;
  std::optional<Predictor> reference;
  File logits_file;
  PredictionScores scores;
};

Status score_rows(ops::Context& context, const Window& window, size_t first, size_t count,
                  Run& run) {
  RILL_ASSIGN_OR_RETURN(const ConstMat logits, run.model.logits(context, first, count));
  ConstMat reference = {};
  if (run.reference) {
    RILL_ASSIGN_OR_RETURN(reference, run.reference->logits(context, first, count));
  }
  const auto targets =
      std::span<const int32_t>(run.tokens.ids).subspan(window.begin + first + 1, count);
  run.scores.add(*context.pool, logits, reference, targets);
  if (run.logits_file == nullptr) return {};
  const size_t values = logits.rows * logits.cols;
  if (std::fwrite(logits.data, sizeof(float), values, run.logits_file.get()) != values)
    return write_error(run.options.logits_path);
  return {};
}

Status score_window(ops::Context& context, const Window& window, Run& run) {
  std::vector<int32_t> ids(
      run.tokens.ids.begin() + static_cast<ptrdiff_t>(window.begin),
      run.tokens.ids.begin() + static_cast<ptrdiff_t>(window.begin + run.length));
  if (run.tokens.bos) ids[0] = *run.tokens.bos;
  RILL_RETURN_IF_ERROR(run.model.run(context, ids));
  if (run.reference) RILL_RETURN_IF_ERROR(run.reference->run(context, ids));
  for (size_t first = window.first; first < window.last; first += kLogitRows) {
    const size_t count = std::min(kLogitRows, window.last - first);
    RILL_RETURN_IF_ERROR(score_rows(context, window, first, count, run));
  }
  return {};
}

Status check_ids(const Tokens& tokens, size_t vocab_size) {
  for (const int32_t id : tokens.ids) {
    if (static_cast<size_t>(id) >= vocab_size) {
      return Error{
          ErrorCode::kInvalidArgument,
          cat("perplexity: token id: got ", id, ", the vocabulary has ", vocab_size, " entries")};
    }
  }
  return {};
}

Status check_same_vocabulary(const LoadedBackbone& model, const LoadedBackbone& reference) {
  const size_t got = reference.backbone->config().vocab_size;
  const size_t expected = model.backbone->config().vocab_size;
  if (got == expected) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("perplexity: reference: got a vocabulary of ", got, ", expected ", expected)};
}

}  // namespace

Result<Json> measure_perplexity(ops::Context& context, const PerplexityOptions& options) {
  RILL_ASSIGN_OR_RETURN(const LoadedBackbone loaded, load_backbone(options.model, *context.pool));
  std::optional<LoadedBackbone> reference;
  if (!options.reference.empty()) {
    RILL_ASSIGN_OR_RETURN(reference, load_backbone(options.reference, *context.pool));
    RILL_RETURN_IF_ERROR(check_same_vocabulary(loaded, *reference));
  }
  RILL_ASSIGN_OR_RETURN(const Tokens tokens, tokenize(options, loaded));
  const auto& config = loaded.backbone->config();
  RILL_RETURN_IF_ERROR(check_ids(tokens, config.vocab_size));
  RILL_ASSIGN_OR_RETURN(const std::vector<Window> windows,
                        cut_windows(options, tokens.ids.size(), config.context_length));
  const size_t length = windows.front().last + 1;
  RILL_ASSIGN_OR_RETURN(auto model, Predictor::create(*loaded.backbone, length, options.kv_type));
  RILL_ASSIGN_OR_RETURN(File logits_file, open_logits(options.logits_path));
  Run run = {options, tokens, length, std::move(model), std::nullopt, std::move(logits_file), {}};
  if (reference) {
    RILL_ASSIGN_OR_RETURN(run.reference,
                          Predictor::create(*reference->backbone, length, options.kv_type));
  }
  for (size_t i = 0; i < windows.size(); ++i) {
    RILL_RETURN_IF_ERROR(score_window(context, windows[i], run));
    const double done = static_cast<double>(i + 1) / static_cast<double>(windows.size());
    if (options.progress && !options.progress(done))
      return Error{ErrorCode::kCancelled, "perplexity: cancelled"};
  }
  if (run.logits_file != nullptr && std::fflush(run.logits_file.get()) != 0)
    return write_error(options.logits_path);
  Json report = Json::object();
  report.set("model", Json::string(options.model));
  if (reference) report.set("reference", Json::string(options.reference));
  report.set("tokens", Json::integer(static_cast<int64_t>(tokens.ids.size())));
  report.set("window", Json::integer(static_cast<int64_t>(length)));
  report.set("windows", Json::integer(static_cast<int64_t>(windows.size())));
  run.scores.report(report);
  return report;
}

}  // namespace rill::measure
