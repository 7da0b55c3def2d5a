// SPDX-License-Identifier: Apache-2.0
#include "live_transcript.h"

#include <array>
#include <cstring>
#include <vector>

#include "exit_codes.h"
#include "interrupt.h"

namespace rill::cli {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 14;

size_t read_live(void* user, void* data, size_t size) {
  return static_cast<LiveInput*>(user)->read(data, size);
}

class LiveTranscriber {
 public:
  LiveTranscriber(rill_transcript_stream* stream, const TranscriptEventFn& on_event)
      : stream_(stream), on_event_(on_event) {}

  /// Hands over events until more sound is wanted, or the end. Returns 0, or an exit code.
  int pull() {
    while (true) {
      rill_transcript_event event = {};
      const rill_status status = rill_transcript_stream_next(stream_, &event, error_.out());
      // A file that a signal cut off may look damaged.
      if (status != RILL_OK && interrupt_exit_code() != 0) return interrupt_exit_code();
      if (status != RILL_OK) return report(status, error_);
      if (event.kind == RILL_TRANSCRIPT_NEEDS_AUDIO || event.kind == RILL_TRANSCRIPT_END)
        return kExitOk;
      const int exit_code = on_event_(event);
      if (exit_code != kExitOk) return exit_code;
    }
  }

  int transcribe_file(LiveInput& input) {
    const rill_status status =
        rill_transcript_stream_read_file(stream_, read_live, &input, error_.out());
    return status == RILL_OK ? pull() : report(status, error_);
  }

  int transcribe_pcm(LiveInput& input, const PcmFormat& format) {
    const bool is_float = format.sample_format == "f32le";
    const size_t frame_bytes =
        (is_float ? sizeof(float) : sizeof(int16_t)) * static_cast<size_t>(format.channels);
    std::string bytes;
    while (true) {
      const size_t held = bytes.size();
      bytes.resize(held + kPieceBytes);
      const size_t got = input.read(bytes.data() + held, kPieceBytes);
      bytes.resize(held + got);
      if (got == 0) break;
      const size_t frames = bytes.size() / frame_bytes;
      int exit_code =
          is_float ? push<float>(bytes, frames, format) : push<int16_t>(bytes, frames, format);
      bytes.erase(0, frames * frame_bytes);
      if (exit_code == kExitOk) exit_code = pull();
      if (exit_code != kExitOk) return exit_code;
    }
    return end();
  }

 private:
  int end() {
    rill_transcript_stream_end_audio(stream_);
    return pull();
  }

  template <typename Sample>
  int push(const std::string& bytes, size_t frames, const PcmFormat& format) {
    std::vector<Sample> samples(frames * static_cast<size_t>(format.channels));
    if (samples.empty()) return kExitOk;
    std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(Sample));
    rill_status status = RILL_OK;
    if constexpr (sizeof(Sample) == sizeof(float)) {
      status = rill_transcript_stream_push_f32(stream_, samples.data(), frames, format.channels,
                                               format.sample_rate_hz, error_.out());
    } else {
      status = rill_transcript_stream_push_s16(stream_, samples.data(), frames, format.channels,
                                               format.sample_rate_hz, error_.out());
    }
    return status == RILL_OK ? kExitOk : report(status, error_);
  }

  rill_transcript_stream* stream_;
  const TranscriptEventFn& on_event_;
  ErrorSlot error_;
};

int run_stream(rill_transcript_stream* stream, const LiveSource& source,
               const TranscriptEventFn& on_event) {
  LiveTranscriber transcriber(stream, on_event);
  LiveInput input;
  if (source.capture) {
    input.open(source.capture);
    const int capture_code = transcriber.transcribe_pcm(input, {});
    return capture_code == kExitOk ? input.check() : capture_code;
  }
  int exit_code = input.open(source.path);
  if (exit_code != kExitOk) return exit_code;
  const bool is_file = source.path != "-" || begins_audio_file(input.peek(kHeadBytes));
  exit_code =
      is_file ? transcriber.transcribe_file(input) : transcriber.transcribe_pcm(input, source.pcm);
  return exit_code == kExitOk ? input.check() : exit_code;
}

}  // namespace

int transcribe_live(Runtime& runtime, const rill_request* request, double partial_seconds,
                    const LiveSource& source, const TranscriptEventFn& on_event,
                    ResultHandle& result) {
  ErrorSlot error;
  TranscriptStreamHandle stream;
  rill_session* session = runtime.session.get();
  rill_status status =
      rill_transcript_stream_start(session, request, partial_seconds, Out(stream), error.out());
  if (status != RILL_OK) return report(status, error);
  int exit_code = kExitOk;
  if (source.capture) {
    const HoldSignals hold;
    exit_code = run_stream(stream.get(), source, on_event);
  } else {
    const CancelOnSignal cancel(session);
    exit_code = run_stream(stream.get(), source, on_event);
  }
  status = rill_transcript_stream_finish(stream.get(), Out(result), error.out());
  if (exit_code == kExitOk && status != RILL_OK) exit_code = report(status, error);
  // After a signal the end of the file, cut where it came, is no error.
  return interrupt_exit_code() != 0 ? interrupt_exit_code() : exit_code;
}

}  // namespace rill::cli
