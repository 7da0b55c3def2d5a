#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the object files of kernels that were compiled for one kernel tier.

check_kernel_symbols.py FOLDER: reads all FOLDER/**/<family>_<tier>.cc.o. Such an object must not define weak symbols:
the linker keeps one copy of a weak function for the whole program, and a copy with AVX-512 instructions would crash
a processor without them. It must not call the C library's mathematics either, whose results differ between machines.
Exits with 1 if one does.
"""

import re
import subprocess
import sys
from pathlib import Path

TIERS = ("scalar", "avx2", "avx512", "avx512vnni", "neon", "wasm")
WEAK = set("VvWwu")
# sqrt is exact everywhere, and fma is what a kernel asks for where the compiler has no instruction for it.
MATHEMATICS = re.compile(
    r"^(a?(sin|cos|tan)h?|exp(2|10|m1)?|log(2|10|1p)?|pow|erfc?|[lt]gamma|cbrt|hypot|atan2|sincos)[fl]?$")


def symbols(path):
    output = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        kind, name = line.split()[-2:]
        yield kind, name.split("@")[0]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    objects = [path for path in sorted(Path(sys.argv[1]).rglob("*.cc.o"))
               if path.name.split(".")[0].rsplit("_", 1)[-1] in TIERS]
    problems = []
    for path in objects:
        for kind, name in symbols(path):
            if kind in WEAK and name not in ("_GLOBAL_OFFSET_TABLE_",):
                problems.append(f"{path.name}: weak symbol {name}")
            if kind == "U" and MATHEMATICS.match(name):
                problems.append(f"{path.name}: calls {name} of the C library")
    for problem in problems:
        print(problem)
    print(f"check_kernel_symbols: {len(objects)} objects, {len(problems)} problems")
    return 1 if problems or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
