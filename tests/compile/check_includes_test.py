#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that tools/check_includes.py refuses what it should: each case is a tiny tree with one file."""

import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent.parent / "tools/check_includes.py"

# (file, include, whether it is allowed)
CASES = [
    ("src/base/a.cc", "<vector>", True),
    ("src/base/a.cc", '"tensor/tensor.h"', False),
    ("src/base/a.cc", "<unistd.h>", False),
    ("src/base/a_posix.cc", "<unistd.h>", True),
    ("src/ops/a.cc", '"kernels/kernel_table.h"', True),
    ("src/model/lfm2/a.cc", '"kernels/kernel_table.h"', False),
    ("src/model/conformer/a.cc", '"model/depthformer/b.h"', False),
    ("src/model/lfm2_audio/a.cc", '"model/conformer/b.h"', True),
    ("src/format/a.cc", '"model/lfm2/b.h"', False),
    ("src/kernels/dot/dot_avx2.cc", "<immintrin.h>", True),
    ("src/kernels/dot/dot_avx2.cc", '"quant/blocks.h"', True),
    ("src/kernels/dot/dot_avx2.cc", "<algorithm>", False),
    ("src/kernels/dot/dot_avx2.cc", '"base/check.h"', False),
    ("apps/cli/a.cc", '"rill/rill.h"', True),
    ("apps/cli/a.cc", '"base/result.h"', False),
    ("src/nosuch/a.cc", "<vector>", False),
]


def check(file, include):
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / file
        path.parent.mkdir(parents=True)
        path.write_text(f"#include {include}\n", encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, check=False).returncode == 0


def main():
    wrong = [case for case in CASES if check(case[0], case[1]) != case[2]]
    for file, include, allowed in wrong:
        print(f"{file} with {include}: expected {'allowed' if allowed else 'refused'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
