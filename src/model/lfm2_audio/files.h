// SPDX-License-Identifier: Apache-2.0
// Which files of a directory make up an LFM2-Audio package. Looks at names only; reads no file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::model::lfm2_audio {

/// A GGUF file in memory; its name decides its role, as a file name does in a directory.
struct MemoryFile {
  std::string name;
  std::span<const std::byte> bytes;
};

/// Explicit choices, as paths relative to the package directory and inside it; unset: by name.
struct FileOptions {
  std::optional<std::string> model_gguf;        ///< lfm2_audio.model_gguf: the backbone
  std::optional<std::string> mmproj_gguf;       ///< lfm2_audio.mmproj_gguf
  std::optional<std::string> vocoder_gguf;      ///< lfm2_audio.vocoder_gguf
  std::optional<std::string> detokenizer_gguf;  ///< lfm2_audio.detokenizer_gguf
};

/// What the package is needed for.
enum class Use {
  kListen,  ///< ASR: backbone and mmproj
  kSpeak,   ///< TTS and S2S: all four files
};

/// The chosen files, as paths relative to the directory (or as names of MemoryFiles).
struct PackageFiles {
  std::string backbone;     ///< B-Q.gguf: backbone and text tokenizer
  std::string mmproj;       ///< mmproj-B-Q.gguf: encoder, adapter, embedding of generated codes
  std::string vocoder;      ///< vocoder-B-Q.gguf: depthformer, code embedding; "" for kListen
  std::string detokenizer;  ///< tokenizer-B-Q.gguf: the audio detokenizer; "" for kListen
};

/// Chooses by name: the backbone is the only GGUF without a companion's prefix; a companion is the
/// option's file, else <prefix><backbone name>, else the only file with its prefix. `where` stands
/// for the directory in messages; `names` are its files. Errors: kNotFound (no backbone, a
/// companion missing), kInvalidArgument (several candidates; an option that is empty,
///         absolute, leaves the directory or names no GGUF); candidates and the option to set are
///         named.
Result<PackageFiles> choose_files(std::string_view where, std::vector<std::string> names,
                                  const FileOptions& options, Use use);

/// The same for a directory. Errors: also kNotFound (no such directory), kInvalidArgument (a file,
/// as a GGUF itself), kIo.
Result<PackageFiles> select_files(const std::string& directory, const FileOptions& options,
                                  Use use);

}  // namespace rill::model::lfm2_audio
