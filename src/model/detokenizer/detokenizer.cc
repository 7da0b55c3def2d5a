// SPDX-License-Identifier: Apache-2.0
// Source: liquid-audio detokenizer.py, LFM2AudioDetokenizer and ISTFT.
#include "model/detokenizer/detokenizer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/str_cat.h"
#include "model/lfm2/load.h"
#include "model/weights/weight_reader.h"
#include "ops/matmul.h"

namespace rill::model::detokenizer {
namespace {

// Frames that are decoded together at most, so that activations stay bounded.
constexpr size_t kPieceFrames = 64;
constexpr size_t kMaxFftSize = size_t{1} << 16;

Result<Mat> take_mat(ops::Context& context, size_t rows, size_t cols) {
  RILL_ASSIGN_OR_RETURN(const std::span<float> values, context.scratch->take<float>(rows * cols));
  return Mat{values.data(), rows, cols, cols};
}

/// Length of the synthesis window, which is the FFT's size.
Result<size_t> read_fft_size(const WeightReader& vocoder) {
  RILL_ASSIGN_OR_RETURN(const Shape window, vocoder.shape("istft.window"));
  const size_t size = window.num_elements();
  if (size < 4 || size > kMaxFftSize || size % 4 != 0) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load vocoder: ", vocoder.file().name(), ": istft.window: got ", size,
                     " values, expected a multiple of 4 up to ", kMaxFftSize)};
  }
  return size;
}

/// embedding_length_out, where the file says it, must be one row of spectrum.
Status check_output(const lfm2::Config& config, const std::string& file, size_t fft_size) {
  if (config.embedding_length_out == 0 || config.embedding_length_out == fft_size + 2) return {};
  return Error{ErrorCode::kInvalidFormat,
               cat("load detokenizer: ", file, ": lfm2.embedding_length_out: got ",
                   config.embedding_length_out, ", expected ", fft_size + 2,
                   ": the vocoder's istft.window and 2")};
}

}  // namespace

Result<std::unique_ptr<Detokenizer>> Detokenizer::load(const format::GgufFile& detokenizer,
                                                       const format::GgufFile& vocoder,
                                                       const CodeShape& codes, bool repack,
                                                       ThreadPool& pool) {
  std::unique_ptr<Detokenizer> out(new Detokenizer());
  out->codes_ = codes;
  const lfm2::LoadOptions options = {
      .form = repack ? lfm2::MatrixForm::kPacked : lfm2::MatrixForm::kBorrowed,
      .role = lfm2::Role::kDetokenizer};
  RILL_ASSIGN_OR_RETURN(out->layers_, lfm2::load_gguf(detokenizer, options, pool));
  const WeightReader reader(detokenizer, repack, pool);
  const WeightReader vocoder_reader(vocoder, repack, pool);
  const size_t width = out->layers_->config().hidden_size;
  RILL_ASSIGN_OR_RETURN(const size_t fft_size, read_fft_size(vocoder_reader));
  RILL_RETURN_IF_ERROR(check_output(out->layers_->config(), detokenizer.name(), fft_size));
  RILL_ASSIGN_OR_RETURN(out->window_, vocoder_reader.values("istft.window", {fft_size}));
  RILL_ASSIGN_OR_RETURN(
      out->embedding_,
      vocoder_reader.lookup("emb.emb.weight", {codes.num_codebooks * codes.codes_per_book, width}));
  RILL_ASSIGN_OR_RETURN(out->dense_, reader.matrix("dense_2.weight", {fft_size + 2, width}));
  RILL_ASSIGN_OR_RETURN(out->dense_bias_, reader.values("dense_2.bias", {fft_size + 2}));
  // A window that cannot be inverted is refused here rather than at the first reply.
  RILL_RETURN_IF_ERROR(Stream::create(*out));
  return out;
}

Result<Stream> Stream::create(const Detokenizer& detokenizer) {
  const Tensor& window = detokenizer.window_;
  RILL_ASSIGN_OR_RETURN(lfm2::SequenceState state,
                        lfm2::SequenceState::create(detokenizer.layers_->config(), DType::kF32));
  auto istft = audio::IstftStream::create({window.data(), window.cols()});
  if (!istft) return std::move(istft).error().with_context("load vocoder: istft.window");
  return Stream(detokenizer, std::move(state), std::move(istft).value());
}

Status Stream::push(ops::Context& context, std::span<const int32_t> codes, std::vector<float>& pcm,
                    const Trace* trace) {
  const size_t num_codebooks = detokenizer_->codes_.num_codebooks;
  RILL_CHECK(codes.size() % num_codebooks == 0, "push: whole frames");
  // A trace wants each stage in one piece.
  const size_t piece = trace != nullptr ? codes.size() : kPieceFrames * num_codebooks;
  for (size_t begin = 0; begin < codes.size(); begin += piece) {
    const size_t count = std::min(piece, codes.size() - begin);
    RILL_RETURN_IF_ERROR(push_piece(context, codes.subspan(begin, count), pcm, trace));
  }
  return {};
}

Status Stream::push_piece(ops::Context& context, std::span<const int32_t> codes,
                          std::vector<float>& pcm, const Trace* trace) {
  Arena::Scope scope(*context.scratch);
  const size_t num_frames = codes.size() / detokenizer_->codes_.num_codebooks;
  const size_t rows = num_frames * kUpsample;
  const size_t width = detokenizer_->layers_->config().hidden_size;
  RILL_ASSIGN_OR_RETURN(const Mat embedded, take_mat(context, num_frames, width));
  RILL_ASSIGN_OR_RETURN(const Mat hidden, take_mat(context, rows, width));
  RILL_ASSIGN_OR_RETURN(const Mat head, take_mat(context, rows, detokenizer_->dense_.rows()));
  RILL_RETURN_IF_ERROR(embed(context, codes, embedded));
  if (trace != nullptr) (*trace)("frame_embedding", embedded);
  for (size_t r = 0; r < rows; ++r) {
    std::memcpy(hidden.row(r), embedded.row(r / kUpsample), width * sizeof(float));
  }
  RILL_RETURN_IF_ERROR(detokenizer_->layers_->forward(context, hidden, state_, hidden, trace));
  RILL_RETURN_IF_ERROR(
      ops::matmul(context, hidden, detokenizer_->dense_, detokenizer_->dense_bias_.data(), head));
  if (trace != nullptr) (*trace)("head", head);
  return istft_.push(head, pcm, context.for_rows(rows).pool);
}

/// The mean of a frame's code embeddings: summed in ascending codebook order, then divided.
Status Stream::embed(ops::Context& context, std::span<const int32_t> codes, Mat out) const {
  Arena::Scope scope(*context.scratch);
  const CodeShape& shape = detokenizer_->codes_;
  RILL_ASSIGN_OR_RETURN(const std::span<float> row, context.scratch->take<float>(out.cols));
  for (size_t f = 0; f < out.rows; ++f) {
    float* mean = out.row(f);
    std::fill(mean, mean + out.cols, 0.0f);
    for (size_t book = 0; book < shape.num_codebooks; ++book) {
      const int32_t code = codes[f * shape.num_codebooks + book];
      if (code < 0 || static_cast<size_t>(code) >= shape.codes_per_book) {
        return Error{
            ErrorCode::kInvalidArgument,
            cat("detokenizer: code: got ", code, ", expected 0 to ", shape.codes_per_book - 1)};
      }
      detokenizer_->embedding_.read_row(book * shape.codes_per_book + static_cast<size_t>(code),
                                        row);
      for (size_t i = 0; i < out.cols; ++i) mean[i] += row[i];
    }
    for (size_t i = 0; i < out.cols; ++i) mean[i] /= static_cast<float>(shape.num_codebooks);
  }
  return {};
}

}  // namespace rill::model::detokenizer
