#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that a change has to pass, as `make test` and the CI run it: each preset's build and tests, the lint
# checks, and a few seconds of each fuzz target. Stops at the first step that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
started=$SECONDS
summary=()

step() {
  local name=$1 begin=$SECONDS
  shift
  echo "== $name"
  "$@"
  summary+=("$(printf '%5d s  %s' $((SECONDS - begin)) "$name")")
}

build() { # preset [targets]
  local preset=$1
  shift
  cmake --preset "$preset" > /dev/null
  cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
}

run_tests() { # preset [ctest arguments]
  local preset=$1
  shift
  ctest --preset "$preset" -j "$jobs" "$@" | tee "build/$preset/ctest.log"
  # The closing line, once more, at the end of everything.
  summary+=("         $preset: $(grep -E 'tests passed' "build/$preset/ctest.log")")
}

fuzz_smoke() {
  local seconds=5 target
  for target in build/fuzz/fuzz/fuzz_*; do
    [ -x "$target" ] && [ -f "$target" ] || continue
    local corpus="fuzz/corpus/${target##*/fuzz_}"
    local seeds=()
    [ -d "$corpus" ] && seeds=("$corpus")
    mkdir -p "build/fuzz/work/${target##*/}"
    echo "${target##*/}: $seconds s"
    "$target" -max_total_time=$seconds -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=0 \
      -artifact_prefix=build/fuzz/ "build/fuzz/work/${target##*/}" "${seeds[@]}"
  done
}

step "release: build" build release
step "lint" tools/lint.sh --fast
step "release: tests" run_tests release
# The sanitizers' build also has the library without exceptions; it runs each test once, on the best tier.
step "dev (address and undefined behaviour sanitizers, no exceptions): build" build dev
step "dev: tests" run_tests dev -LE 'per_isa|slow'
step "tsan: build the threaded tests" build tsan base_test ops_test
step "tsan: tests" run_tests tsan -R '^(base_test|ops_test)$'
step "fuzz: build" build fuzz
step "fuzz: a few seconds each" fuzz_smoke

echo
printf '%s\n' "${summary[@]}"
echo "make test: all passed in $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s"
