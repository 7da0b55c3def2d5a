// SPDX-License-Identifier: Apache-2.0
#include "convert/output_file.h"

#include <filesystem>
#include <system_error>

#include "base/str_cat.h"
#include "convert/portable_keys.h"
#include "format/gguf_writer.h"

namespace rill::convert {
namespace {

/// Counts bytes of sources over all files.
class Meter {
 public:
  Meter(std::span<const OutputFile> files, const Progress& progress) : progress_(progress) {
    for (const OutputFile& file : files) {
      for (const OutputTensor& tensor : file.tensors) total_ += tensor.source_bytes();
    }
  }
  Status advance(uint64_t bytes) {
    done_ += bytes;
    if (progress_.tell == nullptr) return {};
    const double part =
        total_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(total_);
    if (progress_.tell(progress_.user, part)) return {};
    return Error{ErrorCode::kCancelled, "convert: cancelled"};
  }

 private:
  const Progress& progress_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
};

/// The writer's view of the tensors; each makes its bytes in one shared buffer when it is asked.
std::vector<format::GgufTensor> lazy_tensors(const OutputFile& file, ThreadPool& pool, Meter& meter,
                                             AlignedBuffer& buffer, FileReport& report) {
  std::vector<format::GgufTensor> tensors;
  tensors.reserve(file.tensors.size());
  for (const OutputTensor& tensor : file.tensors) {
    format::GgufTensor out;
    out.name = tensor.name;
    out.dtype = tensor.dtype;
    out.shape = tensor.shape;
    out.make_data = [&tensor, &pool, &meter, &buffer,
                     &report]() -> Result<std::span<const std::byte>> {
      Rounding rounding;
      RILL_RETURN_IF_ERROR(produce(tensor, pool, buffer, rounding));
      RILL_RETURN_IF_ERROR(meter.advance(tensor.source_bytes()));
      report.source_bytes += tensor.source_bytes();
      report.rows.push_back({tensor.name, tensor.shape, tensor.source_type(), tensor.dtype,
                             tensor.note, rounding.relative_rms()});
      return std::span<const std::byte>(buffer.data(), buffer.size_bytes());
    };
    tensors.push_back(std::move(out));
  }
  return tensors;
}

Result<FileReport> write_file(OutputFile& file, ThreadPool& pool, Meter& meter) {
  RILL_RETURN_IF_ERROR(set_portable_keys(file.tensors, file.metadata));
  FileReport report;
  report.path = file.path;
  report.type = file.type;
  AlignedBuffer buffer;
  const auto tensors = lazy_tensors(file, pool, meter, buffer, report);
  RILL_RETURN_IF_ERROR(format::write_gguf_file(file.path, file.metadata, tensors));
  return report;
}

}  // namespace

Status check_free(const std::string& path, bool overwrite) {
  std::error_code ignored;
  if (overwrite || !std::filesystem::exists(path, ignored)) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("convert: ", printable(path, 4096),
                   ": it exists; give another name, or the option overwrite")};
}

Result<Report> write_files(std::span<OutputFile> files, ThreadPool& pool,
                           const Progress& progress) {
  Meter meter(files, progress);
  Report report;
  for (OutputFile& file : files) {
    RILL_ASSIGN_OR_RETURN(FileReport written, write_file(file, pool, meter));
    report.files.push_back(std::move(written));
  }
  return report;
}

}  // namespace rill::convert
