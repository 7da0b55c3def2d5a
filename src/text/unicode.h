// SPDX-License-Identifier: Apache-2.0
// Unicode classes that the pre-tokenizer, the template interpreter and the splitting of long text
// need (tables: unicode_tables.inc).
#pragma once

namespace rill::text {

[[nodiscard]] bool is_letter(char32_t c);       ///< general category L*: \p{L}
[[nodiscard]] bool is_number(char32_t c);       ///< general category N*: \p{N}
[[nodiscard]] bool is_white_space(char32_t c);  ///< property White_Space: \s
[[nodiscard]] bool is_mark(char32_t c);         ///< general category M*: combining marks
[[nodiscard]] bool is_printable(char32_t c);    ///< what Python's repr() prints as it is

}  // namespace rill::text
