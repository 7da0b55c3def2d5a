// SPDX-License-Identifier: Apache-2.0
#include "inspect/render.h"

#include <cstdio>

#include "base/str_cat.h"

namespace rill::inspect {
namespace {

// A chat template or a licence text would bury the rest.
constexpr size_t kMaxTextBytes = 120;

std::string byte_count(int64_t count) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(count);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(units)) {
    value /= 1024.0;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

std::string scalar_text(const std::string& key, const Json& value) {
  if (value.is_string()) return printable(value.as_string(), kMaxTextBytes);
  if (value.is_int() && key.find("bytes") != std::string::npos) {
    return cat(value.as_int(), " (", byte_count(value.as_int()), ")");
  }
  return value.dump(/*spaced=*/true);
}

bool is_flat(const Json& array) {
  for (const Json& item : array.items()) {
    if (item.is_array() || item.is_object()) return false;
  }
  return true;
}

void append_object(const Json& object, const std::string& indent, std::string& out);

void append_member(const std::string& key, const Json& value, const std::string& indent,
                   std::string& out) {
  const std::string label = printable(key, kMaxTextBytes);
  if (value.is_object()) {
    out += cat(indent, label, ":\n");
    append_object(value, indent + "  ", out);
  } else if (value.is_array() && !is_flat(value)) {
    out += cat(indent, label, ":\n");
    for (const Json& item : value.items()) {
      std::string line;
      for (const auto& [name, field] : item.members()) {
        line += cat(line.empty() ? "" : "  ", name, " ", scalar_text(name, field));
      }
      out += cat(indent, "  ", line, "\n");
    }
  } else {
    out += cat(indent, label, ": ", scalar_text(key, value), "\n");
  }
}

void append_object(const Json& object, const std::string& indent, std::string& out) {
  for (const auto& [key, value] : object.members()) append_member(key, value, indent, out);
}

}  // namespace

std::string render_text(const Json& report) {
  std::string out;
  append_object(report, "", out);
  return out;
}

}  // namespace rill::inspect
