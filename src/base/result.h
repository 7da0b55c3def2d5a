// SPDX-License-Identifier: Apache-2.0
// Result<T> and Error: how every fallible rill function reports failure. Nothing in rill throws.
// Member names follow std::expected, so that a later swap is mechanical.
#pragma once

#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace rill {

/// What kind of failure it was. docs/errors.md maps each to rill_status, HTTP status and exit code.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller asked for something that makes no sense
  kInvalidFormat,    ///< the bytes of a file or message contradict their format
  kUnsupported,      ///< well formed, but this build does not know it
  kNotFound,         ///< a named file, tensor, key or model does not exist
  kIo,               ///< the operating system failed to read or write
  kOutOfMemory,      ///< a buffer could not be allocated
  kContextFull,      ///< the prompt cannot fit the context, or audio the pass limit
  kCancelled,        ///< cancelled before anything was produced
  kBusy,             ///< the object is in use by another call
  kInternal,         ///< a fault of rill itself
};

/// A failure. Message form: "what failed: where: got X, expected Y", no trailing period.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  /// Prefixes the message with where it happened: "context: message".
  [[nodiscard]] Error with_context(const std::string& context) && {
    return Error{code, context + ": " + message};
  }
};

/// Either a value or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // Implicit on purpose: `return value;` and `return Error{...};` both read naturally.
  Result(T value) : has_value_(true) { new (&value_) T(std::move(value)); }
  Result(Error error) : has_value_(false) { new (&error_) Error(std::move(error)); }

  Result(Result&& other) noexcept : has_value_(other.has_value_) { take(other); }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      destroy();
      has_value_ = other.has_value_;
      take(other);
    }
    return *this;
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() { destroy(); }

  [[nodiscard]] bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }

  /// The value; a broken invariant (panic) if there is none.
  T& value() & {
    RILL_CHECK(has_value_, "Result::value() on an error");
    return value_;
  }
  const T& value() const& {
    RILL_CHECK(has_value_, "Result::value() on an error");
    return value_;
  }
  T&& value() && {
    RILL_CHECK(has_value_, "Result::value() on an error");
    return std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error; a broken invariant (panic) if there is none.
  Error& error() & {
    RILL_CHECK(!has_value_, "Result::error() on a value");
    return error_;
  }
  const Error& error() const& {
    RILL_CHECK(!has_value_, "Result::error() on a value");
    return error_;
  }
  Error&& error() && {
    RILL_CHECK(!has_value_, "Result::error() on a value");
    return std::move(error_);
  }

 private:
  void take(Result& other) {
    if (has_value_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&error_) Error(std::move(other.error_));
    }
  }
  void destroy() {
    if (has_value_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool has_value_;
  union {
    T value_;
    Error error_;
  };
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return !failed_; }
  void value() const { RILL_CHECK(!failed_, "Result::value() on an error"); }
  Error& error() & {
    RILL_CHECK(failed_, "Result::error() on a value");
    return error_;
  }
  const Error& error() const& {
    RILL_CHECK(failed_, "Result::error() on a value");
    return error_;
  }
  Error&& error() && {
    RILL_CHECK(failed_, "Result::error() on a value");
    return std::move(error_);
  }

 private:
  bool failed_ = false;
  Error error_;
};

using Status = Result<void>;

}  // namespace rill

#define RILL_CONCAT_INNER(a, b) a##b
#define RILL_CONCAT(a, b) RILL_CONCAT_INNER(a, b)

/// Returns the error of a Result expression from the calling function, if it has one.
#define RILL_RETURN_IF_ERROR(expr)                             \
  do {                                                         \
    auto rill_status_ = (expr);                                \
    if (!rill_status_) return std::move(rill_status_).error(); \
  } while (false)

/// Evaluates a Result expression; assigns its value to lhs (which may declare) or returns its
/// error.
#define RILL_ASSIGN_OR_RETURN(lhs, expr) \
  RILL_ASSIGN_OR_RETURN_IMPL(RILL_CONCAT(rill_result_, __LINE__), lhs, expr)
#define RILL_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp) return std::move(tmp).error();         \
  lhs = std::move(tmp).value()
