// SPDX-License-Identifier: Apache-2.0
#include "text/pre_tokenizer.h"

#include "base/utf8.h"
#include "text/unicode.h"

namespace rill::text {
namespace {

constexpr std::string_view kSplitRegex65k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSplitRegex128k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s)";

enum class CharClass { kEnd, kLetter, kNumber, kNewline, kSpace, kOther };

/// The character at an offset of the text.
struct Cursor {
  CharClass kind = CharClass::kEnd;
  char32_t code_point = 0;
  size_t next = 0;  ///< offset of the character after it
};

CharClass classify(char32_t c) {
  if (c == '\r' || c == '\n') return CharClass::kNewline;
  if (is_letter(c)) return CharClass::kLetter;
  if (is_number(c)) return CharClass::kNumber;
  if (is_white_space(c)) return CharClass::kSpace;
  return CharClass::kOther;
}

Cursor char_at(std::string_view text, size_t offset) {
  if (offset >= text.size()) return {CharClass::kEnd, 0, offset};
  const Utf8Char c = decode_utf8(text.substr(offset));
  return {classify(c.code_point), c.code_point, offset + c.bytes};
}

/// First offset at or after `offset` whose character is not of the class.
size_t skip_run(std::string_view text, size_t offset, CharClass kind) {
  for (Cursor c = char_at(text, offset); c.kind == kind; c = char_at(text, offset)) offset = c.next;
  return offset;
}

/// Simple case folding, as far as the contraction letters go: U+017F (long s) folds to "s".
char32_t fold(char32_t c) {
  if (c >= 'A' && c <= 'Z') return c + 0x20;
  return c == 0x17F ? U's' : c;
}

/// End of the contraction that starts with the apostrophe before `offset`, or 0.
size_t contraction_end(std::string_view text, size_t offset) {
  const Cursor first = char_at(text, offset);
  if (first.kind != CharClass::kLetter) return 0;
  const char32_t a = fold(first.code_point);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return first.next;
  const Cursor second = char_at(text, first.next);
  const char32_t b = fold(second.code_point);
  const bool pair = (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l');
  return pair ? second.next : 0;
}

/// [^\s\p{L}\p{N}]+[\r\n]*
size_t symbols_end(std::string_view text, size_t offset) {
  return skip_run(text, skip_run(text, offset, CharClass::kOther), CharClass::kNewline);
}

/// \s*[\r\n]+|\s+(?!\S)|\s+ where the run starts at `begin`.
size_t white_space_end(std::string_view text, size_t begin) {
  size_t end = begin;
  size_t last_begin = begin;   // where the run's last character starts
  size_t newline_end = begin;  // end of the run's last line break
  Cursor c = char_at(text, end);
  for (; c.kind == CharClass::kSpace || c.kind == CharClass::kNewline; c = char_at(text, end)) {
    last_begin = end;
    end = c.next;
    if (c.kind == CharClass::kNewline) newline_end = end;
  }
  if (newline_end > begin) return newline_end;
  const bool all_but_last = c.kind != CharClass::kEnd && last_begin > begin;
  return all_but_last ? last_begin : end;
}

size_t number_end(std::string_view text, size_t offset) {
  for (int digits = 0; digits < 3; ++digits) {
    const Cursor c = char_at(text, offset);
    if (c.kind != CharClass::kNumber) break;
    offset = c.next;
  }
  return offset;
}

}  // namespace

bool is_known_split_regex(std::string_view regex) {
  return regex == kSplitRegex65k || regex == kSplitRegex128k;
}

size_t piece_end(std::string_view text, size_t begin) {
  const Cursor first = char_at(text, begin);
  if (first.code_point == '\'') {
    if (const size_t end = contraction_end(text, first.next); end != 0) return end;
  }
  if (first.kind == CharClass::kLetter) return skip_run(text, first.next, CharClass::kLetter);
  if (first.kind == CharClass::kNumber) return number_end(text, begin);
  if (first.kind == CharClass::kNewline) return white_space_end(text, begin);
  const CharClass second = char_at(text, first.next).kind;
  if (second == CharClass::kLetter) return skip_run(text, first.next, CharClass::kLetter);
  if (first.kind == CharClass::kOther) return symbols_end(text, begin);
  if (first.code_point == ' ' && second == CharClass::kOther) return symbols_end(text, first.next);
  return white_space_end(text, begin);
}

std::vector<std::string_view> split_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = piece_end(text, begin);
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

}  // namespace rill::text
