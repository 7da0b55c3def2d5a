#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks that need no test run: layout, ASCII, licence lines, include rules, symbols, clang-tidy.
# tools/lint.sh [--fast] [BUILD]: --fast leaves out clang-tidy, which takes minutes; BUILD is a finished build, by default
# build/release. Reports everything, then fails.
set -uo pipefail
cd "$(dirname "$0")/.."

fast=false
if [ "${1:-}" = --fast ]; then
  fast=true
  shift
fi
build=${1:-build/release}

failures=0
check() {
  local name=$1
  shift
  local output
  if output=$("$@" 2>&1); then
    echo "lint: $name: ok"
  else
    echo "lint: $name: FAILED"
    # Enough to see what is wrong, not thousands of lines.
    head -n 60 <<< "$output"
    failures=$((failures + 1))
  fi
}

mapfile -t sources < <(git ls-files -co --exclude-standard '*.cc' '*.h' '*.c' | while read -r f; do [ -f "$f" ] && echo "$f"; done)

# The public header is laid out by hand, in tables.
layout() { printf '%s\n' "${sources[@]}" | grep -v '^include/' | xargs clang-format --dry-run -Werror; }

ascii() {
  ! git ls-files -co --exclude-standard '*.cc' '*.h' '*.c' '*.inc' '*.in' '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' Makefile |
    xargs -d '\n' grep -nP '[^\x00-\x7F]' --
}

licence_lines() {
  local bad=0
  for file in "${sources[@]}"; do
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$file: no SPDX line"; bad=1; }
  done
  return $bad
}

file_sizes() {
  local bad=0
  for file in "${sources[@]}"; do
    case $file in src/* | apps/* | bindings/*) ;; *) continue ;; esac
    [ "$(wc -l < "$file")" -le 500 ] || { echo "$file: more than 500 lines"; bad=1; }
  done
  return $bad
}

tidy() {
  # It looks at each file by itself.
  cmake --preset release -B build/tidy -DRILL_UNITY=OFF > /dev/null
  # The flags of gcc that clang does not know are no finding.
  printf '%s\n' "${sources[@]}" | grep -E "$tidy_filter" |
    xargs -P "$(nproc)" -n 4 clang-tidy -p build/tidy --quiet --warnings-as-errors='*' \
      --extra-arg=-Wno-unknown-warning-option
}

check "include rules" python3 tools/check_includes.py
check "layout (make format mends it)" layout
check "ASCII" ascii
check "licence lines" licence_lines
check "file sizes" file_sizes
check "kernel symbols" python3 tools/check_kernel_symbols.py "$build/src/kernels" "$build/src/base"
check "exported symbols" python3 tools/check_exported_symbols.py "$build/bindings/c/librill.a"
# Tests and generated tables are not worth the minutes.
tidy_filter='^(src|bindings|apps)/.*\.cc$'
if ! $fast; then check "clang-tidy" tidy; fi

if [ $failures -ne 0 ]; then
  echo "lint: $failures checks failed"
  exit 1
fi
echo "lint: all checks passed"
