#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts the speech detector's weights into build/vad/silero_vad_16k.safetensors, where CMake finds and embeds them: Silero VAD
# (MIT licence), from the npm package @ricky0123/vad-web. Does nothing, at once, if the file is there. Without npm or a
# network rill builds all the same, without the detector, and this says so in one line.
set -euo pipefail
cd "$(dirname "$0")/.."

package=@ricky0123/vad-web@0.0.31
archive=ricky0123-vad-web-0.0.31.tgz
member=package/dist/silero_vad_v6.onnx
sha256=ad780f3154a0b2466052e20412713daa569439268eced0c4f4f55081fdc04cf2 # of the converted file
target=build/vad/silero_vad_16k.safetensors

without() {
  echo "setup: $1; rill is built without the speech detector (--chunk vad); to try again: tools/install_vad.sh" >&2
  exit 0
}

matches() { [ -f "$1" ] && echo "$sha256  $1" | sha256sum --check --status; }

if matches "$target"; then
  exit 0
fi
command -v npm > /dev/null || without "npm is not installed"

mkdir -p build/vad
work=$(mktemp -d build/vad/install.XXXXXX)
trap 'rm -rf "$work"' EXIT
echo "setup: fetching $package"
timeout 300 npm pack "$package" --pack-destination "$work" --ignore-scripts --no-audit --no-fund --no-update-notifier \
  --fetch-retries=1 --fetch-timeout=60000 > "$work/npm.log" 2>&1 < /dev/null ||
  without "npm cannot fetch $package ($(grep -m 1 -i 'error' "$work/npm.log" || echo 'no answer in time'))"
tar -xzf "$work/$archive" -C "$work" "$member"
# The converter refuses any other file than the one it knows, by its SHA-256.
python3 tools/convert_silero_vad.py "$work/$member" "$work/converted"
if ! matches "$work/converted"; then
  echo "setup: $target: the converted file is not the expected one" >&2
  exit 1
fi
mv "$work/converted" "$target"
