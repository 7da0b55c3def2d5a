// SPDX-License-Identifier: Apache-2.0
#include "session/prefix_cache_disk.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/str_cat.h"

namespace rill::session {
namespace {

namespace fs = std::filesystem;
using model::lfm2::Backbone;
using model::lfm2::SequenceState;
using ops::kKvBlockPositions;

constexpr std::string_view kSuffix = ".rillstate";
constexpr std::string_view kTemporaryMark = ".rillstate.tmp";
constexpr auto kStaleAge = std::chrono::hours(1);

/// The names of a folder; what cannot be read is left out.
std::vector<std::string> list_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  return names;
}

std::optional<ContentHash> parse_hash(std::string_view hex) {
  ContentHash hash = {};
  if (hex.size() != 2 * hash.size()) return std::nullopt;
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    const int value = is_digit ? c - '0' : c - 'a' + 10;
    hash[i / 2] = static_cast<uint8_t>(hash[i / 2] << 4 | value);
  }
  return hash;
}

std::optional<size_t> parse_position(std::string_view digits) {
  if (digits.empty() || digits.size() > 15) return std::nullopt;
  size_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<size_t>(c - '0');
  }
  return value;
}

/// Marks a file as used now.
void touch(const std::string& path) {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

struct StateFile {
  fs::file_time_type used;
  size_t position;
  uint64_t bytes;
  std::string path;
};

/// The position in a name v1-MODEL-TOKENIZER-TYPE-POSITION-CONTENT.
std::optional<size_t> position_of(std::string_view name) {
  const size_t last = name.rfind('-');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const size_t before = name.rfind('-', last - 1);
  if (before == std::string_view::npos) return std::nullopt;
  return parse_position(name.substr(before + 1, last - before - 1));
}

/// The states of all models in a folder; removes what crashed writers left.
std::vector<StateFile> list_states(const std::string& directory) {
  std::vector<StateFile> files;
  const auto now = fs::file_time_type::clock::now();
  for (const std::string& name : list_names(directory)) {
    const bool is_temporary = name.find(kTemporaryMark) != std::string::npos;
    const auto position = position_of(name);
    if (!position || !(is_temporary || name.ends_with(kSuffix))) continue;
    StateFile file = {{}, *position, 0, cat(directory, "/", name)};
    std::error_code error;
    file.used = fs::last_write_time(file.path, error);
    if (!error) file.bytes = fs::file_size(file.path, error);
    if (error) continue;
    if (!is_temporary) {
      files.push_back(std::move(file));
    } else if (now - file.used > kStaleAge) {
      remove_file(file.path);
    }
  }
  return files;
}

}  // namespace

PrefixCacheDisk::PrefixCacheDisk(std::string directory, uint64_t max_bytes, std::string tokenizer)
    : directory_(std::move(directory)), max_bytes_(max_bytes), tokenizer_(std::move(tokenizer)) {}

Result<PrefixCacheDisk> PrefixCacheDisk::open(std::string directory, uint64_t max_bytes,
                                              std::string tokenizer) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error)) {
    return Error{ErrorCode::kIo, cat("open prefix cache: ", printable(directory, 4096), ": ",
                                     error ? error.message() : "not a folder")};
  }
  return PrefixCacheDisk(std::move(directory), max_bytes, std::move(tokenizer));
}

std::string PrefixCacheDisk::prefix(const Backbone& backbone, DType kv_type) const {
  const std::string tokenizer = sha256_hex(std::as_bytes(std::span(tokenizer_)));
  return cat("v", kSnapshotVersion, "-", to_hex(std::span(backbone.fingerprint()).first(8)), "-",
             tokenizer.substr(0, 8), "-", kv_type == DType::kF16 ? "f16" : "f32", "-");
}

std::string PrefixCacheDisk::path(const ContentHash& content, size_t position) const {
  return cat(directory_, "/", prefix_, position, "-", to_hex(content), kSuffix);
}

void PrefixCacheDisk::scan(const Backbone& backbone, DType kv_type) {
  prefix_ = prefix(backbone, kv_type);
  files_.clear();
  for (const std::string& name : list_names(directory_)) {
    if (!name.starts_with(prefix_) || !name.ends_with(kSuffix)) continue;
    const auto middle = std::string_view(name).substr(
        prefix_.size(), name.size() - prefix_.size() - kSuffix.size());
    const size_t dash = middle.find('-');
    if (dash == std::string_view::npos) continue;
    const auto position = parse_position(middle.substr(0, dash));
    const auto content = parse_hash(middle.substr(dash + 1));
    if (position && content) files_.emplace(*content, *position);
  }
}

bool PrefixCacheDisk::store(const Sequence& sequence, size_t first_position) {
  if (files_.contains(sequence.content())) return true;
  const auto write = [&]() -> Status {
    RILL_ASSIGN_OR_RETURN(
        const SnapshotHeader header,
        snapshot_header(sequence, SnapshotKind::kTail, first_position, tokenizer_));
    if (snapshot_bytes(header) > max_bytes_) {
      return Error{ErrorCode::kIo, "prefix cache: a state is larger than the folder may be"};
    }
    RILL_ASSIGN_OR_RETURN(AtomicFile file,
                          AtomicFile::create(path(sequence.content(), sequence.position())));
    const auto sink = [&](std::span<const std::byte> bytes) { return file.write(bytes); };
    RILL_RETURN_IF_ERROR(write_snapshot(header, sequence, {}, sink));
    return file.commit();
  };
  if (!write()) {
    ++failed_writes_;
    return false;
  }
  files_.emplace(sequence.content(), sequence.position());
  has_grown_ = true;
  return true;
}

void PrefixCacheDisk::mark_used(const ContentHash& content) const {
  const auto file = files_.find(content);
  if (file != files_.end()) touch(path(content, file->second));
}

std::optional<PrefixCacheDisk::Link> PrefixCacheDisk::open_link(
    std::span<const ContentHash> contents, size_t position, const Backbone& backbone) {
  Link link;
  const ContentHash& content = contents[position];
  link.path = path(content, position);
  Result<MappedFile> file = MappedFile::open(link.path);
  if (!file) {  // another process may have removed it
    files_.erase(content);
    return std::nullopt;
  }
  link.file = std::move(file).value();
  const SnapshotExpectation expected = {&backbone, SnapshotKind::kTail, tokenizer_};
  Result<SnapshotParts> parts = read_snapshot(link.file.bytes(), expected, link.path);
  const bool is_whole =
      parts.has_value() && parts->header.content == content && parts->header.position == position &&
      (parts->block_contents.empty() ||
       std::memcmp(parts->block_contents.data(), contents[parts->header.first_position].data(),
                   sizeof(ContentHash)) == 0);
  if (!is_whole) {
    ++damaged_files_;
    files_.erase(content);
    remove_file(link.path);
    return std::nullopt;
  }
  link.parts = *parts;
  return link;
}

std::vector<Sequence> PrefixCacheDisk::load(std::span<const ContentHash> contents,
                                            const Backbone& backbone, DType kv_type,
                                            const Known& known) {
  std::vector<Link> links;  // last first
  const Sequence* start = nullptr;
  for (size_t position = contents.size() - 1; position > 0;) {
    start = links.empty() ? nullptr : known(contents[position]);
    if (start != nullptr) break;
    std::optional<Link> link = open_link(contents, position, backbone);
    if (!link || link->parts.header.kv_bits != (kv_type == DType::kF16 ? 16u : 32u)) return {};
    position = link->parts.header.first_position;
    links.push_back(std::move(*link));
  }
  std::vector<Sequence> states;
  // The first steps are needed most: they count as used last.
  for (const Link& link : links) touch(link.path);
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    const Sequence* before = states.empty() ? start : &states.back();
    auto state = before != nullptr ? Result<SequenceState>(before->state().clone())
                                   : SequenceState::create(backbone.config(), kv_type);
    if (!state || !apply_snapshot(link->parts, *state)) return {};
    Sequence::Parts parts = {
        std::move(*state), snapshot_hidden(link->parts), link->parts.header.content, {}};
    for (size_t end = kKvBlockPositions; end <= parts.state.position(); end += kKvBlockPositions)
      parts.block_contents.push_back(contents[end]);
    states.push_back(Sequence::assemble(backbone, std::move(parts)));
  }
  return states;
}

void PrefixCacheDisk::trim() {
  has_grown_ = false;
  std::vector<StateFile> files = list_states(directory_);
  uint64_t total = 0;
  for (const StateFile& file : files) total += file.bytes;
  if (total <= max_bytes_) return;
  // Clocks of file systems are coarse: of files of one age the later steps go first.
  std::sort(files.begin(), files.end(), [](const StateFile& a, const StateFile& b) {
    return a.used != b.used ? a.used < b.used : a.position > b.position;
  });
  for (const StateFile& file : files) {
    if (total <= max_bytes_) break;
    remove_file(file.path);
    total -= file.bytes;
    std::erase_if(files_,
                  [&](const auto& entry) { return path(entry.first, entry.second) == file.path; });
  }
}

}  // namespace rill::session
