// SPDX-License-Identifier: Apache-2.0
#include "verify_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

namespace rill::cli {
namespace {

int severity(const VerifyRow& row) {
  if (row.verdict == "pass") return 0;
  return row.verdict == "not built" ? 1 : 2;
}

/// How much of the tolerance is used up; 1 is all of it.
double used_part(const VerifyRow& row) {
  if (std::isnan(row.worst_error)) return std::numeric_limits<double>::infinity();
  if (row.tolerance > 0) return row.worst_error / row.tolerance;
  return row.worst_error > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

bool is_worse(const VerifyRow& a, const VerifyRow& b) {
  if (severity(a) != severity(b)) return severity(a) > severity(b);
  return used_part(a) > used_part(b);
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
  const bool ran = row.verdict != "not built";
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
  std::vector<VerifyRow> subjects;
  std::map<std::string, size_t> index_of;
  std::map<std::string, size_t> num_stages;
  for (const VerifyRow& row : rows) {
    ++num_stages[row.subject];
    const auto [place, is_new] = index_of.emplace(row.subject, subjects.size());
    if (is_new) {
      subjects.push_back(row);
    } else if (is_worse(row, subjects[place->second])) {
      subjects[place->second] = row;
    }
  }
  for (VerifyRow& subject : subjects) {
    const size_t stages = num_stages[subject.subject];
    if (stages > 1) subject.stage += " (of " + std::to_string(stages) + ")";
  }
  return subjects;
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

std::string format_verify_summary(const std::vector<VerifyRow>& subjects) {
  std::array<size_t, 3> counts{};
  for (const VerifyRow& subject : subjects) ++counts[static_cast<size_t>(severity(subject))];
  return std::to_string(subjects.size()) + (subjects.size() == 1 ? " subject: " : " subjects: ") +
         std::to_string(counts[0]) + " pass, " + std::to_string(counts[2]) + " miss, " +
         std::to_string(counts[1]) + " not built\n";
}

}  // namespace rill::cli
