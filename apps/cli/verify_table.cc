// SPDX-License-Identifier: Apache-2.0
#include "verify_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace rill::cli {
namespace {

/// Stages that ran and stages that could not run get a line each.
enum class Group { kRan, kNotBuilt };

Group group_of(const VerifyRow& row) {
  return row.verdict == "not built" ? Group::kNotBuilt : Group::kRan;
}

/// How much of the tolerance is used up; 1 is all of it.
double used_part(const VerifyRow& row) {
  if (std::isnan(row.worst_error)) return std::numeric_limits<double>::infinity();
  if (row.tolerance > 0) return row.worst_error / row.tolerance;
  return row.worst_error > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

bool is_worse(const VerifyRow& a, const VerifyRow& b) {
  const bool a_misses = a.verdict == "miss";
  const bool b_misses = b.verdict == "miss";
  return a_misses != b_misses ? a_misses : used_part(a) > used_part(b);
}

std::string format_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

constexpr size_t kNumColumns = 7;
constexpr size_t kVerdictColumn = 5;
using Cells = std::array<std::string, kNumColumns>;

Cells row_cells(const VerifyRow& row) {
  const bool ran = group_of(row) == Group::kRan;
  return {row.subject,
          row.stage,
          ran ? format_number(row.worst_error) : "-",
          ran ? format_number(row.tolerance) : "-",
          row.measure,
          row.verdict,
          row.note};
}

/// Columns by characters, not bytes, so that names in any script line up.
size_t display_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

VerifyRow::VerifyRow(const rill_verify_row& row)
    : subject(row.subject),
      stage(row.stage),
      worst_error(row.worst_error),
      tolerance(row.tolerance),
      measure(row.measure),
      verdict(row.verdict),
      note(row.note) {}

std::vector<VerifyRow> worst_per_subject(const std::vector<VerifyRow>& rows) {
  using Key = std::pair<std::string, Group>;
  std::vector<VerifyRow> lines;
  std::map<Key, size_t> index_of;
  std::map<Key, size_t> num_stages;
  for (const VerifyRow& row : rows) {
    const Key key(row.subject, group_of(row));
    ++num_stages[key];
    const auto [place, is_new] = index_of.emplace(key, lines.size());
    if (is_new) {
      lines.push_back(row);
    } else if (is_worse(row, lines[place->second])) {
      lines[place->second] = row;
    }
  }
  for (VerifyRow& line : lines) {
    const size_t stages = num_stages[Key(line.subject, group_of(line))];
    if (stages > 1) line.stage += " (of " + std::to_string(stages) + ")";
  }
  return lines;
}

std::string format_verify_table(const std::vector<VerifyRow>& rows, bool highlight) {
  std::vector<Cells> table = {
      {"SUBJECT", "STAGE", "WORST", "TOLERANCE", "MEASURE", "VERDICT", "NOTE"}};
  for (const VerifyRow& row : rows) table.push_back(row_cells(row));
  std::array<size_t, kNumColumns> widths{};
  for (const Cells& cells : table) {
    for (size_t i = 0; i < kNumColumns; ++i)
      widths[i] = std::max(widths[i], display_width(cells[i]));
  }
  std::string text;
  for (const Cells& cells : table) {
    std::string line;
    for (size_t i = 0; i < kNumColumns; ++i) {
      const bool red = highlight && i == kVerdictColumn && cells[i] == "miss";
      line += red ? "\033[31m" + cells[i] + "\033[0m" : cells[i];
      line.append(widths[i] - display_width(cells[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string format_verify_summary(const std::vector<VerifyRow>& lines) {
  std::set<std::string> passed;
  std::set<std::string> missed;
  std::set<std::string> not_built;
  for (const VerifyRow& line : lines) {
    if (line.verdict == "miss") missed.insert(line.subject);
    if (line.verdict == "pass") passed.insert(line.subject);
    if (line.verdict == "not built") not_built.insert(line.subject);
  }
  // A subject that could be run in part counts as what its stages gave.
  for (const std::string& subject : missed) passed.erase(subject);
  for (const std::string& subject : passed) not_built.erase(subject);
  for (const std::string& subject : missed) not_built.erase(subject);
  const size_t total = passed.size() + missed.size() + not_built.size();
  return std::to_string(total) + (total == 1 ? " subject: " : " subjects: ") +
         std::to_string(passed.size()) + " pass, " + std::to_string(missed.size()) + " miss, " +
         std::to_string(not_built.size()) + " not built\n";
}

}  // namespace rill::cli
