// SPDX-License-Identifier: Apache-2.0
#include "hub_download.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>

#include "exit_codes.h"
#include "hub_error.h"
#include "hub_hash.h"
#include "hub_lock.h"

namespace rill::cli::hub {
namespace {

namespace fs = std::filesystem;

// Room that a disk should keep besides the file.
constexpr uint64_t kSpareBytes = 16 << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Where the bytes go while they come.
class PartialFile {
 public:
  explicit PartialFile(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    fs::create_directories(path_.parent_path(), error);
    if (error) throw_io("create", path_.parent_path(), error.message());
    file_.reset(std::fopen(path_.c_str(), "ab"));
    if (file_ == nullptr) throw_io("open", path_, std::strerror(errno));
    size_ = fs::file_size(path_, error);
    if (error) throw_io("open", path_, error.message());
  }

  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const fs::path& path() const { return path_; }

  void clear() {
    file_.reset(std::fopen(path_.c_str(), "wb"));
    if (file_ == nullptr) throw_io("open", path_, std::strerror(errno));
    size_ = 0;
  }
  /// False if the bytes cannot be written; write_error() then says why.
  bool write(const char* data, size_t size) {
    if (std::fwrite(data, 1, size, file_.get()) != size) {
      write_error_ = std::strerror(errno);
      return false;
    }
    size_ += size;
    return true;
  }
  void flush() {
    if (write_error_.empty() && std::fflush(file_.get()) != 0) write_error_ = std::strerror(errno);
  }
  /// What was written is what the file has, whatever the last write did.
  void check() {
    if (write_error_.empty()) return;
    throw_io("write", path_,
             write_error_ + "; what is there stays, and is used when you try again");
  }
  void remove() {
    std::error_code ignored;
    file_.reset();
    fs::remove(path_, ignored);
  }

 private:
  fs::path path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  uint64_t size_ = 0;
  std::string write_error_;
};

/// One file on its way.
struct Download {
  const HubClient& client;
  const std::string& repo;
  const std::string& commit;
  const RemoteFile& file;
  const DownloadProgress& progress;
  std::string what;  // for messages

  void tell(uint64_t size) const {
    if (progress)
      progress(file.name,
               file.size == 0 ? 1.0 : static_cast<double>(size) / static_cast<double>(file.size));
  }
};

HubError wrong_size(const Download& download, uint64_t got) {
  return HubError(kExitUnreadable, download.what + ": wrong size: got " + std::to_string(got) +
                                       " bytes, expected " + std::to_string(download.file.size) +
                                       "; the file was removed");
}

/// True if the answer goes on exactly where the file ends.
bool continues_at(const HttpReply& reply, uint64_t offset) {
  return reply.header("content-range").starts_with("bytes " + std::to_string(offset) + "-");
}

/// Takes a piece of an answer's body; `begun` is set by the first one.
bool take_bytes(const HttpReply& reply, const char* data, size_t size, const Download& download,
                PartialFile& partial, bool& begun) {
  if (reply.status != 200 && reply.status != 206) return true;  // the text of an error
  if (!begun) {
    begun = true;
    if (reply.status == 200 || !continues_at(reply, partial.size())) {
      if (reply.status == 206) return false;
      if (partial.size() > 0) partial.clear();
    }
  }
  if (partial.size() + size > download.file.size) {
    partial.remove();
    throw wrong_size(download, download.file.size + 1);
  }
  if (!partial.write(data, size)) return false;
  download.tell(partial.size());
  return true;
}

void check_space(const fs::path& folder, uint64_t missing, const std::string& what) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= missing + kSpareBytes) return;
  throw HubError(kExitFailed, what + ": the disk is too full: " + folder.string() + " has " +
                                  std::to_string(space.available) + " bytes left, " +
                                  std::to_string(missing) + " are needed");
}

/// Adds bytes until the file has its size.
void complete(const Download& download, PartialFile& partial) {
  std::string etag;
  int attempt = 0;
  while (partial.size() < download.file.size) {
    const uint64_t before = partial.size();
    bool begun = false;
    std::exception_ptr trouble;  // exceptions may not pass through the C library
    const HttpReply reply =
        download.client.read(download.repo, download.commit, download.file.name, before, etag,
                             [&](const HttpReply& answer, const char* data, size_t size) {
                               try {
                                 return take_bytes(answer, data, size, download, partial, begun);
                               } catch (...) {
                                 trouble = std::current_exception();
                                 return false;
                               }
                             });
    if (trouble) std::rethrow_exception(trouble);
    partial.flush();
    partial.check();
    if (partial.size() == download.file.size) return;
    download.client.check_final(reply, download.what);
    const bool whole = reply.failure.empty() && (reply.status == 200 || reply.status == 206);
    if (whole) {
      const uint64_t got = partial.size();
      partial.remove();
      throw wrong_size(download, got);
    }
    if (reply.status == 206 && !continues_at(reply, before)) partial.clear();
    etag = reply.header("etag");
    // A connection that brings something is worth another one.
    attempt = partial.size() > before ? 1 : attempt + 1;
    download.client.wait_to_retry(reply, download.what, attempt);
  }
}

/// True if the bytes are what their name says.
bool has_right_hash(const Download& download, const fs::path& path) {
  const HashProgress go_on = [&](double) {
    return !download.client.events().go_on || download.client.events().go_on();
  };
  return hash_file(path, download.file.etag.size(), go_on) == download.file.etag;
}

}  // namespace

void fetch_blob(const HubClient& client, const HubCache& cache, const std::string& repo,
                const std::string& commit, const RemoteFile& file,
                const DownloadProgress& progress) {
  const Download download{client, repo, commit, file, progress, repo + "/" + file.name};
  bool told = false;
  const FileLock lock(cache.lock(repo, file.etag), [&] {
    if (client.events().go_on && !client.events().go_on()) throw HubInterrupted();
    if (!told && client.events().note)
      client.events().note(download.what + ": another process is fetching it, waiting");
    told = true;
  });
  const fs::path blob = cache.blob(repo, file.etag);
  std::error_code error;
  if (fs::exists(blob, error) && fs::file_size(blob, error) == file.size) return;

  fs::path partial_path = blob;
  partial_path += ".incomplete";
  while (true) {
    PartialFile partial(partial_path);
    if (partial.size() > file.size) partial.clear();
    const bool resumed = partial.size() > 0;
    check_space(blob.parent_path(), file.size - partial.size(), download.what);
    complete(download, partial);
    if (has_right_hash(download, partial_path)) break;
    partial.remove();
    // What an earlier run left behind may be the fault.
    if (resumed) continue;
    throw HubError(kExitUnreadable,
                   download.what + ": wrong hash: the content is not what the hub announced (" +
                       file.etag + "); the file was removed");
  }
  fs::rename(partial_path, blob, error);
  if (error) throw_io("rename", partial_path, error.message());
}

Installed install(const HubClient& client, const HubCache& cache, const ModelRef& ref,
                  const InstallOptions& options, const DownloadProgress& progress) {
  const RepoListing listing = client.list(ref.repo, ref.revision);
  if (is_commit(ref.revision) && listing.commit != ref.revision) {
    throw HubError(kExitUnreadable, ref.repo + "@" + ref.revision +
                                        ": the hub answers with commit " + listing.commit);
  }
  std::string why;
  const auto selection = select_files(ref, listing.files, why);
  if (!selection) throw HubError(kExitUnreadable, ref.repo + ": " + why);
  for (const std::string& name : selection->files) {
    const RemoteFile file = client.describe(ref.repo, listing.commit, name);
    std::error_code ignored;
    const fs::path there = cache.snapshot(ref.repo, listing.commit) / name;
    if (options.force) {
      fs::remove(cache.blob(ref.repo, file.etag), ignored);
    } else if (!fs::is_symlink(there, ignored) && fs::file_size(there, ignored) == file.size) {
      continue;  // a cache without links
    }
    fetch_blob(client, cache, ref.repo, listing.commit, file, progress);
    cache.add_to_snapshot(ref.repo, listing.commit, name, file.etag);
  }
  cache.write_ref(ref.repo, ref.revision, listing.commit);
  const auto installed = cache.find(ref);
  if (!installed)
    throw HubError(kExitFailed, ref.repo + ": was fetched, and is not found in the cache");
  return *installed;
}

}  // namespace rill::cli::hub
