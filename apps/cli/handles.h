// SPDX-License-Identifier: Apache-2.0
// Owners of the C API's objects.
#pragma once

#include <memory>

#include "rill/rill.h"

namespace rill::cli {

template <auto destroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    destroy(object);
  }
};

template <typename T, auto destroy>
using Handle = std::unique_ptr<T, Destroy<destroy>>;

using EngineHandle = Handle<rill_engine, rill_engine_destroy>;
using ModelHandle = Handle<rill_model, rill_model_destroy>;
using SessionHandle = Handle<rill_session, rill_session_destroy>;
using RequestHandle = Handle<rill_request, rill_request_destroy>;
using ResultHandle = Handle<rill_result, rill_result_destroy>;
using StreamHandle = Handle<rill_stream, rill_stream_destroy>;
using TranscriptStreamHandle = Handle<rill_transcript_stream, rill_transcript_stream_destroy>;
using VadHandle = Handle<rill_vad, rill_vad_destroy>;
using ReplyStreamHandle = Handle<rill_reply_stream, rill_reply_stream_destroy>;
using TokenizerHandle = Handle<rill_tokenizer, rill_tokenizer_destroy>;
using TokensHandle = Handle<rill_tokens, rill_tokens_destroy>;
using StringHandle = Handle<rill_string, rill_string_destroy>;

/// Passes an out-parameter of the C API: fills the handle when the call has returned.
template <typename H>
class Out {
 public:
  explicit Out(H& handle) : handle_(handle) {}
  ~Out() { handle_.reset(object_); }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  operator typename H::element_type **() { return &object_; }

 private:
  H& handle_;
  typename H::element_type* object_ = nullptr;
};

/// The place for a call's rill_error.
class ErrorSlot {
 public:
  ErrorSlot() = default;
  ~ErrorSlot() { rill_error_destroy(error_); }
  ErrorSlot(const ErrorSlot&) = delete;
  ErrorSlot& operator=(const ErrorSlot&) = delete;

  /// Where the call writes; forgets an earlier error.
  rill_error** out() {
    rill_error_destroy(error_);
    error_ = nullptr;
    return &error_;
  }
  [[nodiscard]] const rill_error* get() const { return error_; }

 private:
  rill_error* error_ = nullptr;
};

}  // namespace rill::cli
