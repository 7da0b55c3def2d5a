// SPDX-License-Identifier: Apache-2.0
// rill_transcript_stream: speech recognition of audio that is still coming in.
#include "tasks/transcript_stream.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "codec/audio_reader.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

struct rill_transcript_stream {
  rill_session* session;
  tasks::TranscriptStream stream;
  tasks::TranscriptEvent event;  // that the caller sees
  // An audio file whose bytes a callback gives; opened at the first call of next.
  std::unique_ptr<audio::ByteSource> bytes;
  std::unique_ptr<audio::AudioReader> reader;
  std::vector<float> piece;
};

namespace {

class CallbackSource final : public audio::ByteSource {
 public:
  CallbackSource(rill_read_fn read, void* user) : read_(read), user_(user) {}

  Result<size_t> read(std::span<std::byte> out) override {
    if (out.empty()) return size_t{0};
    return std::min(read_(user_, out.data(), out.size()), out.size());
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return std::nullopt; }

 private:
  rill_read_fn read_;
  void* user_;
  std::string name_ = "audio stream";
};

/// Pushes the next piece of the file, or its end. Small pieces: a pipe may give its bytes slowly.
Status read_more(rill_transcript_stream& stream) {
  if (stream.reader == nullptr) {
    RILL_ASSIGN_OR_RETURN(stream.reader, codec::open_audio(std::move(stream.bytes)));
    stream.piece.resize(size_t{1024} * stream.reader->channels());
  }
  RILL_ASSIGN_OR_RETURN(const size_t frames, stream.reader->read(stream.piece));
  if (frames == 0) {
    stream.stream.end_audio();
    stream.reader.reset();
    return {};
  }
  const uint32_t channels = stream.reader->channels();
  return stream.stream.push_audio(std::span(stream.piece).first(frames * channels), channels,
                                  stream.reader->sample_rate_hz());
}

Result<tasks::TranscriptEvent> next_event(rill_transcript_stream& stream) {
  ops::Context context = compute_context(*stream.session);
  while (true) {
    {
      const std::lock_guard<std::mutex> turn(stream.session->model->engine->compute);
      RILL_ASSIGN_OR_RETURN(auto event, stream.stream.next(context));
      const bool reads = stream.bytes != nullptr || stream.reader != nullptr;
      if (event.kind != tasks::TranscriptEvent::Kind::kNeedsAudio || !reads) return event;
    }
    RILL_RETURN_IF_ERROR(read_more(stream));  // may wait, so others compute meanwhile
  }
}

rill_transcript_event_kind to_kind(tasks::TranscriptEvent::Kind kind) {
  using Kind = tasks::TranscriptEvent::Kind;
  switch (kind) {
    case Kind::kNeedsAudio:
      return RILL_TRANSCRIPT_NEEDS_AUDIO;
    case Kind::kPartial:
      return RILL_TRANSCRIPT_PARTIAL;
    case Kind::kFinal:
      return RILL_TRANSCRIPT_FINAL;
    case Kind::kEnd:
      break;
  }
  return RILL_TRANSCRIPT_END;
}

rill_status push(rill_transcript_stream* stream, std::span<const float> interleaved,
                 int32_t channels, int32_t sample_rate_hz, rill_error** error) {
  if (stream->bytes != nullptr || stream->reader != nullptr)
    return fail(ErrorCode::kInvalidArgument, "push audio: the stream reads a file", error);
  Status pushed = stream->stream.push_audio(interleaved, static_cast<uint32_t>(channels),
                                            static_cast<uint32_t>(sample_rate_hz));
  if (!pushed) return fail(std::move(pushed).error(), error);
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_transcript_stream_start(rill_session* session, const rill_request* request,
                                         double partial_interval_s, rill_transcript_stream** stream,
                                         rill_error** error) {
  if (session == nullptr || request == nullptr || stream == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "start transcript stream: session, request or stream is NULL", error);
  }
  if (request->task != RILL_TASK_ASR) {
    return fail(ErrorCode::kInvalidArgument, "start transcript stream: the task is not ASR", error);
  }
  if (Status speaks = need_package(*session); !speaks)
    return fail(std::move(speaks).error(), error);
  auto options = asr_options(*session, *request);
  if (!options) return fail(std::move(options).error(), error);
  if (!take_session(*session))
    return fail(ErrorCode::kBusy, "start transcript stream: the session is busy", error);
  auto started = tasks::TranscriptStream::start(*session->model->package, *options,
                                                asr_run(*session), partial_interval_s);
  if (!started) {
    free_session(*session);
    return fail(std::move(started).error(), error);
  }
  *stream = new rill_transcript_stream{session, std::move(started).value(), {}, {}, {}, {}};
  return RILL_OK;
}

void rill_transcript_stream_destroy(rill_transcript_stream* stream) {
  if (stream == nullptr) return;
  free_session(*stream->session);
  delete stream;
}

rill_status rill_transcript_stream_read_file(rill_transcript_stream* stream, rill_read_fn read,
                                             void* user, rill_error** error) {
  if (stream == nullptr || read == nullptr)
    return fail(ErrorCode::kInvalidArgument, "read file: stream or read is NULL", error);
  stream->bytes = std::make_unique<CallbackSource>(read, user);
  return RILL_OK;
}

rill_status rill_transcript_stream_push_f32(rill_transcript_stream* stream, const float* samples,
                                            size_t frames, int32_t channels, int32_t sample_rate_hz,
                                            rill_error** error) {
  Status valid = check_push(stream, samples, frames, channels);
  if (!valid) return fail(std::move(valid).error(), error);
  return push(stream, {samples, frames * static_cast<size_t>(channels)}, channels, sample_rate_hz,
              error);
}

rill_status rill_transcript_stream_push_s16(rill_transcript_stream* stream, const int16_t* samples,
                                            size_t frames, int32_t channels, int32_t sample_rate_hz,
                                            rill_error** error) {
  Status valid = check_push(stream, samples, frames, channels);
  if (!valid) return fail(std::move(valid).error(), error);
  return push(stream, scaled_samples(samples, frames * static_cast<size_t>(channels)), channels,
              sample_rate_hz, error);
}

void rill_transcript_stream_end_audio(rill_transcript_stream* stream) {
  stream->stream.end_audio();
}

rill_status rill_transcript_stream_next(rill_transcript_stream* stream,
                                        rill_transcript_event* event, rill_error** error) {
  if (stream == nullptr || event == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "next transcript event: stream or event is NULL",
                error);
  }
  auto next = next_event(*stream);
  if (!next) return fail(std::move(next).error(), error);
  stream->event = std::move(next).value();
  const tasks::TranscriptSegment& s = stream->event.segment;
  *event = {to_kind(stream->event.kind),
            {s.start_s, s.end_s, s.text.c_str(), s.text.size(), s.tokens.data(), s.tokens.size(),
             s.truncated ? 1 : 0},
            stream->stream.backlog_s()};
  return RILL_OK;
}

rill_status rill_transcript_stream_finish(rill_transcript_stream* stream, rill_result** result,
                                          rill_error** error) {
  if (stream == nullptr || result == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "finish transcript stream: stream or result is NULL",
                error);
  }
  *result = make_transcript_result(stream->stream.result()).release();
  return RILL_OK;
}

}  // extern "C"
