// SPDX-License-Identifier: Apache-2.0
#include "model/silero_vad/weights.h"

#include <string>
#include <string_view>

#include "base/str_cat.h"

namespace rill::model::silero_vad {
namespace {

// Fetches tensors by name and stored shape.
class Loader {
 public:
  Loader(const format::SafetensorsFile& file, ThreadPool& pool) : file_(file), pool_(pool) {}

  // `stored` is the shape in the file; the matrix is [stored.dim(0), all the rest].
  Result<quant::PackedMatrix> matrix(const std::string& name, const Shape& stored) const {
    RILL_ASSIGN_OR_RETURN(TensorView view, find(name, stored));
    view.shape = Shape{stored.dim(0), stored.num_elements() / stored.dim(0)};
    auto packed = quant::PackedMatrix::pack(view, pool_);
    if (!packed) return std::move(packed.error()).with_context(cat(file_.name(), ": ", name));
    return packed;
  }

  Result<Tensor> values(const std::string& name, size_t count) const {
    RILL_ASSIGN_OR_RETURN(TensorView view, find(name, Shape{count}));
    view.shape = Shape{1, count};
    auto row = quant::PackedMatrix::borrow(view);
    if (!row) return std::move(row.error()).with_context(cat(file_.name(), ": ", name));
    RILL_ASSIGN_OR_RETURN(Tensor out, Tensor::create(1, count));
    row->read_row(0, {out.data(), count});
    return out;
  }

  Status layer(const std::string& weight_name, const std::string& bias_name, const Shape& stored,
               Layer& out) const {
    RILL_ASSIGN_OR_RETURN(out.weight, matrix(weight_name, stored));
    RILL_ASSIGN_OR_RETURN(out.bias, values(bias_name, stored.dim(0)));
    return {};
  }

 private:
  Result<TensorView> find(const std::string& name, const Shape& stored) const {
    const NamedTensor* tensor = file_.tensors().find(name);
    if (tensor == nullptr)
      return Error{ErrorCode::kNotFound, cat(file_.name(), ": no tensor ", name)};
    if (!(tensor->view.shape == stored)) {
      return Error{ErrorCode::kInvalidFormat,
                   cat(file_.name(), ": ", name, ": got shape ", tensor->view.shape.to_string(),
                       ", expected ", stored.to_string())};
    }
    return tensor->view;
  }

  const format::SafetensorsFile& file_;
  ThreadPool& pool_;
};

}  // namespace

Result<Weights> load_weights(const format::SafetensorsFile& file, ThreadPool& pool) {
  const Loader loader(file, pool);
  Weights w;
  RILL_ASSIGN_OR_RETURN(w.stft, loader.matrix("stft_conv.weight", {2 * kBins, 1, kWindow}));
  RILL_RETURN_IF_ERROR(loader.layer("conv1.weight", "conv1.bias", {128, kBins, kKernel}, w.conv1));
  RILL_RETURN_IF_ERROR(loader.layer("conv2.weight", "conv2.bias", {64, 128, kKernel}, w.conv2));
  RILL_RETURN_IF_ERROR(loader.layer("conv3.weight", "conv3.bias", {64, 64, kKernel}, w.conv3));
  RILL_RETURN_IF_ERROR(loader.layer("conv4.weight", "conv4.bias", {kHidden, 64, kKernel}, w.conv4));
  const Shape gates = {4 * kHidden, kHidden};
  RILL_RETURN_IF_ERROR(
      loader.layer("lstm_cell.weight_ih", "lstm_cell.bias_ih", gates, w.lstm_input));
  RILL_RETURN_IF_ERROR(
      loader.layer("lstm_cell.weight_hh", "lstm_cell.bias_hh", gates, w.lstm_hidden));
  RILL_RETURN_IF_ERROR(
      loader.layer("final_conv.weight", "final_conv.bias", {1, kHidden, 1}, w.final_conv));
  return w;
}

}  // namespace rill::model::silero_vad
