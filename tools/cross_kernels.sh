#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the kernels and their checks for aarch64 and runs them under qemu: every NEON kernel must equal the scalar one
# bit for bit. Usage: cross_kernels.sh BUILD_DIR. Exit code 77 (skipped) if the cross compiler or qemu is missing.
set -eu

build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
compiler=${RILL_AARCH64_CXX:-aarch64-linux-gnu-g++}
for tool in "$compiler" qemu-aarch64 cmake; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool"
    exit 77
  fi
done

cmake -S "$source/tests/kernel/cross" -B "$build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DRILL_ROOT="$source" >/dev/null
cmake --build "$build" -j 2
output=$(qemu-aarch64 -cpu max "$build/cross_check") || { echo "$output"; exit 1; }
echo "$output"
case $output in
  *"tier neon: checked"*) ;;
  *) echo "the NEON tier was not checked"; exit 1 ;;
esac
