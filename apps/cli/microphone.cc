// SPDX-License-Identifier: Apache-2.0
#include "microphone.h"

#include "exit_codes.h"
#include "interrupt.h"

#ifdef RILL_HAVE_ALSA

#include <alsa/asoundlib.h>

namespace rill::cli {
namespace {

constexpr unsigned kLatencyUs = 200'000;

snd_pcm_t* pcm_of(void* pcm) { return static_cast<snd_pcm_t*>(pcm); }

/// The library's own lines on stderr would stand beside our message.
void ignore_message(const char*, int, const char*, int, const char*, ...) {}

}  // namespace

SoundDevice::~SoundDevice() {
  if (pcm_ != nullptr) snd_pcm_close(pcm_of(pcm_));
}

int SoundDevice::fail(const char* what, int code) const {
  const char* kind = direction_ == Direction::kCapture ? "microphone " : "loudspeaker ";
  return report(kExitFailed, kind + name_ + ": " + what + ": " + snd_strerror(code));
}

int SoundDevice::open(const std::string& name, uint32_t sample_rate_hz) {
  name_ = name;
  snd_lib_error_set_handler(ignore_message);
  const bool captures = direction_ == Direction::kCapture;
  snd_pcm_t* pcm = nullptr;
  int code = snd_pcm_open(&pcm, name.c_str(),
                          captures ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK, 0);
  if (code < 0) return fail("cannot be opened", code);
  pcm_ = pcm;
  code = snd_pcm_set_params(pcm, SND_PCM_FORMAT_S16_LE, SND_PCM_ACCESS_RW_INTERLEAVED, 1,
                            sample_rate_hz, /*soft_resample=*/1, kLatencyUs);
  return code < 0 ? fail("does not take mono 16-bit sound", code) : kExitOk;
}

int SoundDevice::read(std::span<int16_t> samples, size_t* count) {
  *count = 0;
  while (*count < samples.size() && interrupt_exit_code() == 0) {
    const auto rest = samples.subspan(*count);
    snd_pcm_sframes_t got = snd_pcm_readi(pcm_of(pcm_), rest.data(), rest.size());
    if (got == -EINTR) continue;
    if (got < 0) {
      // What was lost while nobody listened is lost; a device that was asleep is woken up.
      got = snd_pcm_recover(pcm_of(pcm_), static_cast<int>(got), /*silent=*/1);
      if (got < 0) return fail("cannot be read", static_cast<int>(got));
      continue;
    }
    if (got == 0) return kExitOk;
    *count += static_cast<size_t>(got);
  }
  return kExitOk;
}

int SoundDevice::write(std::span<const int16_t> samples) {
  while (!samples.empty() && interrupt_exit_code() == 0) {
    snd_pcm_sframes_t taken = snd_pcm_writei(pcm_of(pcm_), samples.data(), samples.size());
    if (taken == -EINTR) continue;
    if (taken < 0) taken = snd_pcm_recover(pcm_of(pcm_), static_cast<int>(taken), /*silent=*/1);
    if (taken < 0) return fail("cannot be written", static_cast<int>(taken));
    samples = samples.subspan(static_cast<size_t>(taken));
  }
  return kExitOk;
}

void SoundDevice::finish() {
  if (direction_ == Direction::kPlayback) {
    if (interrupt_exit_code() == 0) snd_pcm_drain(pcm_of(pcm_));
  } else {
    snd_pcm_drop(pcm_of(pcm_));
  }
  snd_pcm_prepare(pcm_of(pcm_));
}

}  // namespace rill::cli

#else

namespace rill::cli {

SoundDevice::~SoundDevice() = default;

int SoundDevice::open(const std::string&, uint32_t) {
  return report(kExitFailed,
                "this build has no microphone: ALSA's library (libasound2-dev) was not there when "
                "it was made");
}

int SoundDevice::read(std::span<int16_t>, size_t* count) {
  *count = 0;
  return kExitOk;
}

int SoundDevice::write(std::span<const int16_t>) { return kExitOk; }

void SoundDevice::finish() {}

}  // namespace rill::cli

#endif
