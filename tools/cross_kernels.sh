#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the kernels and their checks for aarch64 and runs them under qemu: every NEON kernel must equal the scalar one
# bit for bit. With --engine also the libraries and the tests that compare whole runs (text, encoder, transcripts, speech)
# with the bits recorded on x86. Usage: cross_kernels.sh [--engine] BUILD_DIR. Exit code 77 (skipped) if the cross compiler or qemu is missing.
set -eu

engine=OFF
generator=
targets=cross_check
if [ "$1" = --engine ]; then
  engine=ON
  generator="-G Ninja"
  targets="cross_check conformance_lfm2_text_test conformance_audio_test cross_tasks_test"
  shift
fi
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
compiler=${RILL_AARCH64_CXX:-aarch64-linux-gnu-g++}
for tool in "$compiler" qemu-aarch64 cmake; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool"
    exit 77
  fi
done

# The kernels have an optimisation level of their own; the rest compiles twice as fast with little.
# shellcheck disable=SC2086  # two words
cmake $generator -S "$source/tests/kernel/cross" -B "$build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
  -DRILL_ROOT="$source" -DRILL_CROSS_ENGINE=$engine >/dev/null
# shellcheck disable=SC2086  # a list
cmake --build "$build" -j 2 --target $targets
output=$(qemu-aarch64 -cpu max "$build/cross_check") || { echo "$output"; exit 1; }
echo "$output"
case $output in
  *"tier neon: checked"*) ;;
  *) echo "the NEON tier was not checked"; exit 1 ;;
esac
[ $engine = ON ] || exit 0

run() { # program filter
  echo "$1 on NEON:"
  RILL_ISA=neon qemu-aarch64 -cpu max "$build/$1" --gtest_brief=1 --gtest_filter="$2"
}
run conformance/conformance_lfm2_text_test '*Reference*:*RecordedBits*'
run conformance/conformance_audio_test '*Reference*:*RecordedBits*:Detokenizer.TheCut*'
run cross_tasks_test 'TranscribeTest.EveryTier*:SpeechTest.*Reference*'
