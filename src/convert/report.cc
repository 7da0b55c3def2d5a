// SPDX-License-Identifier: Apache-2.0
#include "convert/report.h"

#include <algorithm>
#include <cstdio>

#include "base/str_cat.h"

namespace rill::convert {
namespace {

/// "blk.12.ffn_up.weight" as "blk.*.ffn_up.weight": numbers between dots become stars. Norms and
/// biases share one line.
std::string pattern_of(const TensorRow& row) {
  if (row.shape.rows() == 1) return "(tensors of one row)";
  const std::string& name = row.name;
  std::string out;
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    out += cat(begin > 0 ? "." : "", number ? "*" : part);
    begin = end + 1;
  }
  return out;
}

/// Tensors that one line of the report stands for.
struct Group {
  std::string pattern;
  const TensorRow* first = nullptr;
  size_t count = 0;
  double worst_error = 0;
};

std::vector<Group> group_rows(const std::vector<TensorRow>& rows) {
  std::vector<Group> groups;
  for (const TensorRow& row : rows) {
    const std::string pattern = pattern_of(row);
    const auto same = [&](const Group& group) {
      return group.pattern == pattern && group.first->from == row.from &&
             group.first->to == row.to && group.first->note == row.note;
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), {pattern, &row, 0, 0});
    ++group->count;
    group->worst_error = std::max(group->worst_error, row.rms_error);
  }
  return groups;
}

std::string mebibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / 1048576.0);
  return text;
}

std::string group_line(const Group& group) {
  char counted[16];
  std::snprintf(counted, sizeof counted, "  %4zu  ", group.count);
  std::string types = cat(group.first->from, " -> ", dtype_name(group.first->to));
  types.resize(std::max<size_t>(types.size(), 16), ' ');
  std::string line = cat(counted, types, "  ", group.pattern);
  if (group.worst_error > 0) {
    char error[48];
    std::snprintf(error, sizeof error, "  (error %.2g)", group.worst_error);
    line += error;
  }
  if (!group.first->note.empty()) line += cat("  ", group.first->note);
  return line + "\n";
}

std::string file_text(const FileReport& file) {
  uint64_t bytes = 0;
  uint64_t values = 0;
  for (const TensorRow& row : file.rows) {
    values += row.shape.num_elements();
    bytes += row.shape.rows() * row_bytes(row.to, row.shape.cols());
  }
  char bits[32];
  const double per_value =
      values == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(values);
  std::snprintf(bits, sizeof bits, "%.2f bits", per_value);
  std::string text =
      cat(file.path, ": ", file_type_name(file.type), ", ", file.rows.size(), " tensors, ",
          mebibytes(file.source_bytes), " -> ", mebibytes(bytes), ", ", bits, " a weight\n");
  for (const Group& group : group_rows(file.rows)) text += group_line(group);
  return text;
}

}  // namespace

std::string to_text(const Report& report) {
  std::string text;
  for (const FileReport& file : report.files) text += file_text(file);
  for (const std::string& note : report.notes) text += cat("note: ", note, "\n");
  return text;
}

}  // namespace rill::convert
