#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of tools/packages.txt that are missing, then the speech detector's weights
# (tools/install_vad.sh). Does nothing, at once, if all are there.
set -euo pipefail
cd "$(dirname "$0")/.."

install_packages() {
  local wanted missing=() installed package as_root=() install=()
  mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' tools/packages.txt)

  if ! command -v dpkg-query > /dev/null; then
    echo "setup: this is not a Debian system; install what corresponds to tools/packages.txt by hand" >&2
    return 0
  fi

  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2> /dev/null | sed -n 's/^ii *//p' || true)
  for package in "${wanted[@]}"; do
    grep -qxF "$package" <<< "$installed" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return 0
  fi

  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
      echo "setup: these packages are missing, and installing them needs root or sudo:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi

  echo "setup: installing ${missing[*]}"
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}")
  # The package lists of a fresh machine are empty, and old ones may name files that are gone.
  if ! "${install[@]}" > /dev/null 2>&1; then
    "${as_root[@]}" apt-get update
    "${install[@]}"
  fi
}

install_packages
tools/install_vad.sh
