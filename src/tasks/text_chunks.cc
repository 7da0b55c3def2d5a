// SPDX-License-Identifier: Apache-2.0
#include "tasks/text_chunks.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tasks/text_code_points.h"

namespace rill::tasks {
namespace {

/// For each i the greatest j <= i for which holds(j), or kNone.
constexpr size_t kNone = SIZE_MAX;
template <typename Predicate>
std::vector<size_t> last_where(size_t count, Predicate holds) {
  std::vector<size_t> last(count, kNone);
  for (size_t i = 0; i < count; ++i) {
    last[i] = holds(i) ? i : (i > 0 ? last[i - 1] : kNone);
  }
  return last;
}

/// The shrink step: what remains of [begin, end) when it is cut after the last sentence mark in it
/// that is not at begin, else after the last clause mark; the end itself if there is neither. (A
/// sentence mark that is already last counts as none found: see the header.)
size_t shrink(size_t begin, size_t end, const std::vector<size_t>& last_sentence,
              const std::vector<size_t>& last_clause) {
  const auto cut_after = [&](const std::vector<size_t>& last) {
    const size_t at = last[end - 1];
    return at == kNone || at <= begin ? end : at + 1;
  };
  const size_t cut = cut_after(last_sentence);
  return cut != end ? cut : cut_after(last_clause);
}

/// Splits one text; the modes are its methods.
class Splitter {
 public:
  Splitter(const CodePoints& text, size_t budget) : text_(text), budget_(budget) {
    const auto& chars = text.chars;
    last_sentence_ = last_where(chars.size(), [&](size_t i) { return is_sentence_mark(chars[i]); });
    last_clause_ = last_where(chars.size(), [&](size_t i) { return is_clause_mark(chars[i]); });
    last_base_ = last_where(chars.size(), [&](size_t i) { return !is_continuation(chars[i]); });
  }

  Pieces split_default();
  Pieces split_japanese();
  Pieces split_endline();
  Pieces split_tag_aware();

  /// The "( ... )" that the text starts with, if more text follows it; else an empty piece.
  [[nodiscard]] Piece control_prefix() const;
  /// Leaves the first `begin` code points out.
  void skip(size_t begin) { begin_ = begin; }
  void set_budget(size_t budget) { budget_ = budget; }

 private:
  [[nodiscard]] Piece trimmed(Piece piece) const;
  [[nodiscard]] Piece whole() const { return trimmed({begin_, text_.chars.size()}); }
  [[nodiscard]] bool fits(size_t begin, size_t end) const { return end - begin <= budget_; }
  [[nodiscard]] bool has_spaceless(Piece piece) const;
  [[nodiscard]] Pieces words() const;
  [[nodiscard]] Pieces tagged_units() const;
  [[nodiscard]] size_t end_of_tag(size_t begin, size_t (&next_close)[2]) const;
  [[nodiscard]] bool is_tag(Piece unit) const;
  [[nodiscard]] size_t end_of_tagged_word(size_t begin, size_t end) const;
  [[nodiscard]] bool ends_line(size_t after) const;

  void cut_by_code_points(Piece piece);
  void add_unit_over_budget(Piece unit);
  void add_sentence_over_budget(const Pieces& units, size_t first, size_t last);
  void pack_sentences(const Pieces& units);

  const CodePoints& text_;
  size_t budget_;
  size_t begin_ = 0;
  std::vector<size_t> last_sentence_;  // of the code points before and at each
  std::vector<size_t> last_clause_;
  std::vector<size_t> last_base_;
  Pieces chunks_;
};

Piece Splitter::trimmed(Piece piece) const {
  while (piece.begin < piece.end && is_space(text_.chars[piece.begin])) ++piece.begin;
  while (piece.begin < piece.end && is_space(text_.chars[piece.end - 1])) --piece.end;
  return piece;
}

bool Splitter::has_spaceless(Piece piece) const {
  return std::any_of(text_.chars.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                     text_.chars.begin() + static_cast<std::ptrdiff_t>(piece.end), is_spaceless);
}

/// Runs between ASCII white space.
Pieces Splitter::words() const {
  Pieces words;
  const Piece all = whole();
  for (size_t i = all.begin; i < all.end;) {
    size_t end = i;
    while (end < all.end && !is_space(text_.chars[end])) ++end;
    if (end > i) words.push_back({i, end});
    i = end + 1;
  }
  return words;
}

/// Cuts by code points alone: what kJapanese does with the whole text, other modes with a part.
void Splitter::cut_by_code_points(Piece piece) {
  piece = trimmed(piece);
  while (piece.begin < piece.end) {
    size_t end = piece.end;
    if (piece.size() > budget_) {
      end = shrink(piece.begin, piece.begin + budget_, last_sentence_, last_clause_);
      const size_t base = last_base_[end];
      end = std::max(base == kNone ? 0 : base, piece.begin + 1);
    }
    chunks_.push_back(trimmed({piece.begin, end}));
    piece.begin = end;
    while (piece.begin < piece.end && is_space(text_.chars[piece.begin])) ++piece.begin;
  }
}

void Splitter::add_unit_over_budget(Piece unit) {
  if (has_spaceless(unit)) {
    cut_by_code_points(unit);
  } else {
    chunks_.push_back(unit);
  }
}

Pieces Splitter::split_default() {
  const Pieces all = words();
  const auto ends_in = [&](bool (*is_end)(char32_t)) {
    return last_where(all.size(), [&](size_t i) { return is_end(text_.chars[all[i].end - 1]); });
  };
  const std::vector<size_t> last_sentence = ends_in(is_sentence_mark);
  const std::vector<size_t> last_clause = ends_in(is_clause_mark);
  size_t end = 0;  // of the words that fit; grows with first
  for (size_t first = 0; first < all.size();) {
    end = std::max(end, first);
    while (end < all.size() && fits(all[first].begin, all[end].end)) ++end;
    if (end == first) {
      add_unit_over_budget(all[first++]);
      continue;
    }
    const bool shrinks = end < all.size() && end - first > 1;
    const size_t cut = shrinks ? shrink(first, end, last_sentence, last_clause) : end;
    chunks_.push_back({all[first].begin, all[cut - 1].end});
    first = cut;
  }
  return std::move(chunks_);
}

Pieces Splitter::split_japanese() {
  cut_by_code_points(whole());
  return std::move(chunks_);
}

/// True if only blanks lie between the code point `after` and a line end or the end of the text.
bool Splitter::ends_line(size_t after) const {
  while (after < text_.chars.size() && (text_.chars[after] == ' ' || text_.chars[after] == '\t')) {
    ++after;
  }
  return after == text_.chars.size() || text_.chars[after] == '\n' || text_.chars[after] == '\r';
}

Pieces Splitter::split_endline() {
  const Piece all = whole();
  size_t begin = all.begin;
  for (size_t i = all.begin; i < all.end; ++i) {
    if (!is_sentence_mark(text_.chars[i]) || !ends_line(i + 1)) continue;
    cut_by_code_points({begin, i + 1});
    begin = i + 1;
  }
  cut_by_code_points({begin, all.end});
  return std::move(chunks_);
}

Piece Splitter::control_prefix() const {
  const Piece all = whole();
  if (all.size() == 0 || text_.chars[all.begin] != '(') return {};
  const size_t close = text_.chars.find(U')', all.begin);
  if (close == std::u32string::npos || trimmed({close + 1, all.end}).size() == 0) return {};
  return {all.begin, close + 1};
}

/// The end of the tag that starts at begin, or begin if no tag does. next_close remembers where the
/// next ']' and '>' are, so that each is looked for once.
size_t Splitter::end_of_tag(size_t begin, size_t (&next_close)[2]) const {
  const char32_t open = text_.chars[begin];
  if (open != '[' && open != '<') return begin;
  size_t& close = next_close[open == '[' ? 0 : 1];
  if (close != kNone && close < begin) close = text_.chars.find(open == '[' ? U']' : U'>', begin);
  return close == kNone ? begin : close + 1;
}

bool Splitter::is_tag(Piece unit) const {
  const char32_t open = text_.chars[unit.begin];
  const char32_t close = text_.chars[unit.end - 1];
  return (open == '[' && close == ']') || (open == '<' && close == '>');
}

/// A word ends before white space and after sentence marks. (What opens a tag ends it in the
/// caller.)
size_t Splitter::end_of_tagged_word(size_t begin, size_t end) const {
  size_t i = begin;
  while (i < end && !is_space(text_.chars[i]) && !is_sentence_mark(text_.chars[i])) {
    if (i > begin && (text_.chars[i] == '[' || text_.chars[i] == '<')) return i;
    ++i;
  }
  while (i < end && is_sentence_mark(text_.chars[i])) ++i;
  return i;
}

/// Tags and words, in order.
Pieces Splitter::tagged_units() const {
  Pieces units;
  const Piece all = whole();
  size_t next_close[2] = {text_.chars.find(U']'), text_.chars.find(U'>')};
  for (size_t i = all.begin; i < all.end;) {
    if (is_space(text_.chars[i])) {
      ++i;
      continue;
    }
    size_t end = end_of_tag(i, next_close);
    if (end == i) end = end_of_tagged_word(i, all.end);
    units.push_back({i, end});
    i = end;
  }
  return units;
}

/// Cuts units [first, last) between units.
void Splitter::add_sentence_over_budget(const Pieces& units, size_t first, size_t last) {
  while (first < last) {
    size_t end = first;
    while (end < last && fits(units[first].begin, units[end].end)) ++end;
    if (end == first) {
      const Piece unit = units[first++];
      if (is_tag(unit)) {
        chunks_.push_back(unit);
      } else {
        add_unit_over_budget(unit);
      }
      continue;
    }
    chunks_.push_back({units[first].begin, units[end - 1].end});
    first = end;
  }
}

/// Packs whole sentences into the budget.
void Splitter::pack_sentences(const Pieces& units) {
  Piece open;  // the sentences that the next chunk has so far
  const auto flush = [&] {
    if (open.size() > 0) chunks_.push_back(open);
    open = {};
  };
  for (size_t first = 0; first < units.size();) {
    size_t last = first;
    while (last + 1 < units.size() && !is_sentence_mark(text_.chars[units[last].end - 1])) ++last;
    const Piece sentence{units[first].begin, units[last].end};
    if (open.size() > 0 && fits(open.begin, sentence.end)) {
      open.end = sentence.end;
    } else {
      flush();
      if (fits(sentence.begin, sentence.end)) {
        open = sentence;
      } else {
        add_sentence_over_budget(units, first, last + 1);
      }
    }
    first = last + 1;
  }
  flush();
}

Pieces Splitter::split_tag_aware() {
  pack_sentences(tagged_units());
  return std::move(chunks_);
}

std::vector<std::string> copy_chunks(const CodePoints& text, const Pieces& pieces,
                                     std::string_view prefix) {
  std::vector<std::string> chunks;
  chunks.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    std::string chunk(prefix);
    if (!prefix.empty()) chunk += ' ';
    chunk += text.substr(piece);
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

std::vector<std::string> split_with_control_prefix(const CodePoints& text, size_t budget) {
  Splitter splitter(text, budget);
  const Piece prefix = splitter.control_prefix();
  if (prefix.size() == 0) return copy_chunks(text, splitter.split_tag_aware(), {});
  const size_t taken = prefix.size() + 1;
  splitter.skip(prefix.end);
  // Text that fits as it is stays one chunk, also where the space after its prefix is ours.
  const bool fits = text.chars.size() <= budget;
  splitter.set_budget(fits ? text.chars.size() : (budget > taken ? budget - taken : 1));
  return copy_chunks(text, splitter.split_tag_aware(), text.substr(prefix));
}

}  // namespace

std::optional<TextChunkMode> text_chunk_mode_by_name(std::string_view name) {
  if (name == "default") return TextChunkMode::kDefault;
  if (name == "tag_aware" || name == "tag-aware" || name == "tagaware") {
    return TextChunkMode::kTagAware;
  }
  if (name == "japanese" || name == "ja") return TextChunkMode::kJapanese;
  if (name == "endline") return TextChunkMode::kEndline;
  return std::nullopt;
}

Result<std::vector<std::string>> split_text(std::string_view text, TextChunkMode mode,
                                            size_t max_code_points) {
  if (max_code_points == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "split text: got a chunk size of 0 code points, expected 1 or more"};
  }
  RILL_ASSIGN_OR_RETURN(const CodePoints points, decode_trimmed(text));
  switch (mode) {
    case TextChunkMode::kDefault:
      return copy_chunks(points, Splitter(points, max_code_points).split_default(), {});
    case TextChunkMode::kJapanese:
      return copy_chunks(points, Splitter(points, max_code_points).split_japanese(), {});
    case TextChunkMode::kEndline:
      return copy_chunks(points, Splitter(points, max_code_points).split_endline(), {});
    case TextChunkMode::kTagAware:
      break;
  }
  return split_with_control_prefix(points, max_code_points);
}

}  // namespace rill::tasks
