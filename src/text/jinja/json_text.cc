// SPDX-License-Identifier: Apache-2.0
// json.dumps() with the options of the "tojson" filter.
#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

void append_unicode_escape(uint32_t unit, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 15];
}

void append_escaped(char32_t c, bool ensure_ascii, std::string& out) {
  static constexpr std::string_view kShort = "\"\\\n\r\t\b\f";
  static constexpr std::string_view kLetters = "\"\\nrtbf";
  const auto code = static_cast<uint32_t>(c);
  const size_t index = code < 0x80 ? kShort.find(static_cast<char>(code)) : std::string_view::npos;
  if (index != std::string_view::npos) {
    out += '\\';
    out += kLetters[index];
  } else if (code < 0x20 || (ensure_ascii && code >= 0x7F && code < 0x10000 && code != 0x7F)) {
    append_unicode_escape(code, out);
  } else if (ensure_ascii && code >= 0x10000) {
    append_unicode_escape(0xD800 + ((code - 0x10000) >> 10), out);
    append_unicode_escape(0xDC00 + ((code - 0x10000) & 0x3FF), out);
  } else {
    append_utf8(c, out);
  }
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, std::string& out) : style_(style), out_(out) {}

  Status write(const Value& value, size_t level) {
    using Kind = Value::Kind;
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "null";
        return {};
      case Kind::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return {};
      case Kind::kInt:
      case Kind::kBigInt:
        append_str(value, out_);
        return {};
      case Kind::kFloat:
        write_float(value.as_double());
        return {};
      case Kind::kString:
        write_string(value.as_string());
        return {};
      case Kind::kList:
        return write_list(value.as_list(), level);
      case Kind::kDict:
        return write_dict(value.as_dict(), level);
      case Kind::kUndefined:
      case Kind::kNamespace:
      case Kind::kLoop:
      case Kind::kMacro:
      case Kind::kFunction:
        break;
    }
    return Error{ErrorCode::kInvalidArgument,
                 cat("a value of type ", value.type_name(), " has no JSON form")};
  }

 private:
  void write_float(double value) {
    if (std::isnan(value)) {
      out_ += "NaN";
    } else if (std::isinf(value)) {
      out_ += value < 0 ? "-Infinity" : "Infinity";
    } else {
      out_ += float_text(value);
    }
  }

  void write_string(std::string_view text) {
    out_ += '"';
    for (size_t i = 0; i < text.size();) {
      const Utf8Char c = decode_utf8(text.substr(i));
      append_escaped(c.code_point, style_.ensure_ascii, out_);
      i += c.bytes;
    }
    out_ += '"';
  }

  void new_line(size_t level) {
    if (!style_.is_indented) return;
    out_ += '\n';
    out_.append(style_.indent * level, ' ');
  }

  void separate(bool first, size_t level) {
    if (!first) out_ += style_.item_separator;
    new_line(level);
  }

  Status write_list(const List& list, size_t level) {
    out_ += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      separate(i == 0, level + 1);
      RILL_RETURN_IF_ERROR(write(list.items[i], level + 1));
    }
    if (!list.items.empty()) new_line(level);
    out_ += ']';
    return {};
  }

  Status write_dict(const Dict& dict, size_t level) {
    std::vector<const std::pair<std::string, Value>*> members;
    for (const auto& member : dict.members) members.push_back(&member);
    if (style_.sort_keys) {
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->first < b->first; });
    }
    out_ += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      separate(i == 0, level + 1);
      write_string(members[i]->first);
      out_ += style_.key_separator;
      RILL_RETURN_IF_ERROR(write(members[i]->second, level + 1));
    }
    if (!members.empty()) new_line(level);
    out_ += '}';
    return {};
  }

  const JsonStyle& style_;
  std::string& out_;
};

}  // namespace

Status append_json(const Value& value, const JsonStyle& style, std::string& out) {
  return JsonWriter(style, out).write(value, 0);
}

}  // namespace rill::text::jinja
