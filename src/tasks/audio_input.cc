// SPDX-License-Identifier: Apache-2.0
#include "tasks/audio_input.h"

#include <memory>
#include <utility>

#include "audio/byte_source.h"
#include "audio/mono.h"
#include "audio/pcm.h"
#include "base/str_cat.h"
#include "codec/audio_reader.h"

namespace rill::tasks {
namespace {

// Longer input would hold gigabytes of samples; a pipe that never ends must not take all memory.
constexpr int64_t kMaxSamples = int64_t{24} * 3600 * kModelSampleRateHz;

Status check_samples(size_t frames, int32_t channels, int32_t rate_hz) {
  if (channels < 1 || channels > static_cast<int32_t>(audio::kMaxChannels)) {
    return Error{ErrorCode::kInvalidArgument, cat("set audio: channels: got ", channels,
                                                  ", expected 1 to ", audio::kMaxChannels)};
  }
  if (rate_hz < static_cast<int32_t>(audio::kMinSampleRateHz) ||
      rate_hz > static_cast<int32_t>(audio::kMaxSampleRateHz)) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("set audio: sample rate: got ", rate_hz, " Hz, expected ",
                     audio::kMinSampleRateHz, " to ", audio::kMaxSampleRateHz)};
  }
  if (frames > static_cast<size_t>(-1) / sizeof(float) / static_cast<size_t>(channels)) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("set audio: frames: got ", frames, ", too many for memory")};
  }
  return {};
}

Result<std::vector<float>> read_source(std::unique_ptr<audio::ByteSource> source) {
  RILL_ASSIGN_OR_RETURN(const auto reader, codec::open_audio(std::move(source)));
  auto samples = audio::read_mono(*reader, kModelSampleRateHz, kMaxSamples);
  if (!samples && samples.error().code == ErrorCode::kInvalidArgument) {
    return Error{ErrorCode::kContextFull, std::move(samples).error().message};
  }
  return samples;
}

Error too_long() {
  return Error{ErrorCode::kContextFull, cat("audio: longer than ", kMaxSamples, " samples at ",
                                            kModelSampleRateHz, " Hz, the most that is taken")};
}

Result<MonoPieces> open_source(std::unique_ptr<audio::ByteSource> source) {
  RILL_ASSIGN_OR_RETURN(auto reader, codec::open_audio(std::move(source)));
  RILL_ASSIGN_OR_RETURN(auto stream,
                        audio::MonoStream::create(reader->sample_rate_hz(), reader->channels()));
  return MonoPieces(std::move(reader), std::move(stream));
}

Result<std::unique_ptr<audio::FileSource>> open_path(const std::string& path,
                                                     const std::atomic<bool>* cancel) {
  if (path != "-") {
    RILL_ASSIGN_OR_RETURN(auto file, audio::FileSource::open(path));
    file->set_cancel(cancel);
    return file;
  }
  auto input = audio::FileSource::standard_input();
  input->set_cancel(cancel);
  return input;
}

}  // namespace

MonoPieces::MonoPieces(std::unique_ptr<audio::AudioReader> reader, audio::MonoStream stream)
    : reader_(std::move(reader)), stream_(std::move(stream)) {
  const auto frames = reader_->format().total_frames;
  if (frames)
    total_samples_ = static_cast<int64_t>(static_cast<double>(*frames) * kModelSampleRateHz /
                                          reader_->sample_rate_hz());
  piece_.resize(size_t{4096} * reader_->channels());
}

Result<bool> MonoPieces::read(std::vector<float>& out) {
  if (reader_ == nullptr) {
    out.insert(out.end(), whole_.begin(), whole_.end());
    std::exchange(whole_, {});
    return false;
  }
  const size_t before = out.size();
  RILL_ASSIGN_OR_RETURN(const size_t frames, reader_->read(piece_));
  if (frames > 0) {
    RILL_RETURN_IF_ERROR(stream_->push(std::span(piece_).first(frames * reader_->channels()), out));
  } else {
    stream_->finish(out);
  }
  samples_read_ += static_cast<int64_t>(out.size() - before);
  if (samples_read_ > kMaxSamples) return too_long();
  return frames > 0;
}

AudioInput AudioInput::from_path(std::string path) {
  AudioInput input;
  input.source_ = Path{std::move(path)};
  return input;
}

AudioInput AudioInput::from_file_bytes(std::span<const std::byte> bytes) {
  AudioInput input;
  input.source_ = FileBytes{{bytes.begin(), bytes.end()}};
  return input;
}

Result<AudioInput> AudioInput::from_samples(const float* samples, size_t frames, int32_t channels,
                                            int32_t rate_hz) {
  RILL_RETURN_IF_ERROR(check_samples(frames, channels, rate_hz));
  const std::span<const float> all(samples, frames * static_cast<size_t>(channels));
  if (Status finite = audio::check_samples(all, 0); !finite) {
    return Error{ErrorCode::kInvalidArgument, std::move(finite).error().message};
  }
  AudioInput input;
  input.source_ = Samples{{all.begin(), all.end()}, channels, rate_hz};
  return input;
}

Result<AudioInput> AudioInput::from_samples(const int16_t* samples, size_t frames, int32_t channels,
                                            int32_t rate_hz) {
  RILL_RETURN_IF_ERROR(check_samples(frames, channels, rate_hz));
  std::vector<float> interleaved(frames * static_cast<size_t>(channels));
  for (size_t i = 0; i < interleaved.size(); ++i)
    interleaved[i] = static_cast<float>(samples[i]) / 32768.0f;
  AudioInput input;
  input.source_ = Samples{std::move(interleaved), channels, rate_hz};
  return input;
}

Result<std::vector<float>> AudioInput::read_mono_16k(const std::atomic<bool>* cancel) const {
  if (const auto* path = std::get_if<Path>(&source_)) {
    RILL_ASSIGN_OR_RETURN(auto file, open_path(path->path, cancel));
    return read_source(std::move(file));
  }
  if (const auto* file = std::get_if<FileBytes>(&source_)) {
    return read_source(
        std::make_unique<audio::MemorySource>(std::span<const std::byte>(file->bytes)));
  }
  if (const auto* pcm = std::get_if<Samples>(&source_)) {
    RILL_ASSIGN_OR_RETURN(auto stream,
                          audio::MonoStream::create(static_cast<uint32_t>(pcm->rate_hz),
                                                    static_cast<uint32_t>(pcm->channels)));
    std::vector<float> mono;
    RILL_RETURN_IF_ERROR(stream.push(pcm->interleaved, mono));
    stream.finish(mono);
    return mono;
  }
  return Error{ErrorCode::kInvalidArgument, "LFM2-Audio ASR requires audio_input"};
}

Result<MonoPieces> AudioInput::open(const std::atomic<bool>* cancel) const {
  if (const auto* path = std::get_if<Path>(&source_)) {
    RILL_ASSIGN_OR_RETURN(auto file, open_path(path->path, cancel));
    return open_source(std::move(file));
  }
  if (const auto* file = std::get_if<FileBytes>(&source_)) {
    return open_source(
        std::make_unique<audio::MemorySource>(std::span<const std::byte>(file->bytes)));
  }
  RILL_ASSIGN_OR_RETURN(auto samples, read_mono_16k());
  return MonoPieces(std::move(samples));
}

}  // namespace rill::tasks
