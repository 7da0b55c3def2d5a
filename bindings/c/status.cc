// SPDX-License-Identifier: Apache-2.0
// rill_status: the one table from error codes to names, exit codes and HTTP status codes
// (docs/errors.md).
#include <cstddef>

#include "objects.h"

namespace rill::c_api {
namespace {

struct StatusRow {
  rill_status status;
  ErrorCode code;  // unused for RILL_OK
  const char* name;
  int exit_code;
  int http;
};

constexpr StatusRow kStatusTable[] = {
    {RILL_OK, ErrorCode::kInternal, "ok", 0, 200},
    {RILL_ERROR_INVALID_ARGUMENT, ErrorCode::kInvalidArgument, "invalid_argument", 2, 400},
    {RILL_ERROR_INVALID_FORMAT, ErrorCode::kInvalidFormat, "invalid_format", 3, 400},
    {RILL_ERROR_UNSUPPORTED, ErrorCode::kUnsupported, "unsupported", 3, 400},
    {RILL_ERROR_NOT_FOUND, ErrorCode::kNotFound, "not_found", 3, 404},
    {RILL_ERROR_IO, ErrorCode::kIo, "io", 3, 500},
    {RILL_ERROR_OUT_OF_MEMORY, ErrorCode::kOutOfMemory, "out_of_memory", 4, 503},
    {RILL_ERROR_CONTEXT_FULL, ErrorCode::kContextFull, "context_full", 1, 400},
    {RILL_ERROR_CANCELLED, ErrorCode::kCancelled, "cancelled", 130, 499},
    {RILL_ERROR_BUSY, ErrorCode::kBusy, "busy", 1, 503},
    {RILL_ERROR_INTERNAL, ErrorCode::kInternal, "internal", 1, 500},
};

const StatusRow* find_row(rill_status status) {
  for (const StatusRow& row : kStatusTable) {
    if (row.status == status) return &row;
  }
  return nullptr;
}

}  // namespace

rill_status to_status(ErrorCode code) {
  for (const StatusRow& row : kStatusTable) {
    if (row.status != RILL_OK && row.code == code) return row.status;
  }
  return RILL_ERROR_INTERNAL;
}

rill_status fail(Error error, rill_error** out) {
  const rill_status status = to_status(error.code);
  if (out != nullptr) *out = new rill_error{status, std::move(error.message)};
  return status;
}

rill_status fail(ErrorCode code, const char* message, rill_error** out) {
  return fail(Error{code, message}, out);
}

}  // namespace rill::c_api

using namespace rill::c_api;

extern "C" {

const char* rill_status_name(rill_status status) {
  const auto* row = find_row(status);
  return row != nullptr ? row->name : "unknown";
}

int rill_status_exit_code(rill_status status) {
  const auto* row = find_row(status);
  return row != nullptr ? row->exit_code : 1;
}

int rill_status_http(rill_status status) {
  const auto* row = find_row(status);
  return row != nullptr ? row->http : 500;
}

const char* rill_error_message(const rill_error* error) {
  return error != nullptr ? error->message.c_str() : "";
}

rill_status rill_error_status(const rill_error* error) {
  return error != nullptr ? error->status : RILL_OK;
}

void rill_error_destroy(rill_error* error) { delete error; }

const char* rill_string_data(const rill_string* text) {
  return text != nullptr ? text->text.c_str() : "";
}

size_t rill_string_size(const rill_string* text) { return text != nullptr ? text->text.size() : 0; }

void rill_string_destroy(rill_string* text) { delete text; }

const char* rill_version(void) { return RILL_VERSION_TEXT; }

}  // extern "C"
