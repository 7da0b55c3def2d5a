#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that a change has to pass, as `make test` and the CI run it: builds, tests and lint checks. Stops at the first
# step that fails. tools/test.sh --all runs every test in both builds, the engine on NEON, and a few seconds of each fuzz
# target.
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
  # One more than there are processors: some tests mostly wait.
  ctest --preset "$preset" -j $((jobs + 1)) "$@" | tee "build/$preset/ctest.log"
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

# Transcripts and conformance sets on the NEON tier, if the cross compiler and qemu are there.
engine_on_neon() {
  tools/cross_kernels.sh --engine build/release/cross_engine || [ $? -eq 77 ]
}

# Every test runs at least once. What reads untrusted bytes or manages memory runs under the sanitizers; what depends on
# optimised kernels, and the program itself, in the release build. `--all` builds and runs everything in both.
sanitized=(base_test tensor_test quant_test format_test audio_test codec_test text_tokenizer_test text_chat_test
  text_grammar_test convert_test kernel_rows_test matmul_kernel_test session_test prefix_cache_test
  model_lfm2_test model_lfm2_audio_test tasks_test)
only_sanitized=(base_test tensor_test quant_test format_test audio_test codec_test text_tokenizer_test text_chat_test
  text_grammar_test convert_test prefix_cache_test)
pattern() { local IFS='|'; echo "^($*)\$"; }

if [ "${1:-}" = --all ]; then
  step "release: build" build release
  step "lint" tools/lint.sh --fast
  step "release: tests" run_tests release
  step "dev (address and undefined behaviour sanitizers, no exceptions): build" build dev
  step "dev: tests" run_tests dev -LE slow
else
  release_targets=(rill_cli rill_headers kernel_rows_test matmul_kernel_test ops_test matmul_test session_test
    model_lfm2_test model_lfm2_audio_test model_silero_vad_test tasks_test conversation_test grammar_constraint_test inspect_test
    measure_test verify_test conformance_lfm2_text_test
    conformance_audio_test api_c_test api_cpp_test api_header_example api_docs_example api_text_example cli_parts_test start_tier
    kernel_bench)
  step "release: build" build release "${release_targets[@]}"
  step "lint" tools/lint.sh --fast
  step "release: tests" run_tests release -E "$(pattern "${only_sanitized[@]}")"
  step "dev (address and undefined behaviour sanitizers, no exceptions): build" build dev "${sanitized[@]}"
  step "dev: tests" run_tests dev -R "$(pattern "${sanitized[@]}")"
fi
step "tsan: build the threaded tests" build tsan base_test ops_test
step "tsan: tests" run_tests tsan -R '^(base_test|ops_test)$'
if [ "${1:-}" = --all ]; then
  step "the engine on NEON under qemu" engine_on_neon
  step "fuzz: build" build fuzz
  step "fuzz: a few seconds each" fuzz_smoke
fi

echo
printf '%s\n' "${summary[@]}"
echo "make test: all passed in $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s"
