// SPDX-License-Identifier: Apache-2.0
// Microphone and loudspeaker through ALSA, which on desktops passes them on to PulseAudio or
// PipeWire. A build without ALSA's library has both and says so when they are opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rill::cli {

/// The rate at which the models and the speech detector listen.
inline constexpr uint32_t kMicrophoneRateHz = 16000;

/// Mono 16-bit sound in or out. Threading: one thread.
class SoundDevice {
 public:
  enum class Direction { kCapture, kPlayback };

  explicit SoundDevice(Direction direction) : direction_(direction) {}
  ~SoundDevice();
  SoundDevice(const SoundDevice&) = delete;
  SoundDevice& operator=(const SoundDevice&) = delete;

  /// Opens a device by its ALSA name ("default", "hw:1", ...) at this rate. Returns 0, or an exit
  /// code after printing why.
  int open(const std::string& name, uint32_t sample_rate_hz);
  /// Captures until `samples` is full. *count receives less at the end of what the device gives,
  /// which real ones never reach, and when a signal came. Returns 0, or an exit code after printing
  /// why.
  int read(std::span<int16_t> samples, size_t* count);
  /// Plays samples; returns when the device has taken them. Returns 0, or an exit code.
  int write(std::span<const int16_t> samples);
  /// Playback: waits until everything was heard. Capture: forgets what came in meanwhile.
  void finish();

 private:
  int fail(const char* what, int code) const;

  Direction direction_;
  std::string name_;
  void* pcm_ = nullptr;  // snd_pcm_t
};

}  // namespace rill::cli
