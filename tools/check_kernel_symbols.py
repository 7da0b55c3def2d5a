#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the object files that were compiled for more than the least processor.

check_kernel_symbols.py FOLDER...: reads all FOLDER/**/<family>_<tier>.cc.o and FOLDER/**/*_fma.cc.o. Such an object
must not define weak symbols: the linker keeps one copy of a weak function for the whole program, and a copy with
AVX-512 instructions would crash a processor without them. It must not call the C library's mathematics either, whose
results differ between machines. A kernel's object must define the functions of the tier's rows in
src/kernels/**/*.inc and no other function that the linker sees.
Exits with 1 if one does otherwise.
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


ROW = re.compile(r"^RILL_KERNEL\((\w+), (\w+)\)$", re.MULTILINE)
# rill::kernels::<name>(...), as the compilers spell it.
KERNEL_NAME = re.compile(r"^_ZN4rill7kernels\d+(\w+?)E")
SOURCES = Path(__file__).resolve().parent.parent / "src" / "kernels"


def registered(path):
    """The kernels that the rows of an object's family and tier promise."""
    family, tier = path.name.split(".")[0].rsplit("_", 1)
    text = "".join(inc.read_text() for inc in sorted((SOURCES / family).glob("*.inc")))
    return {f"{function}_{row_tier}" for function, row_tier in ROW.findall(text) if row_tier == tier}


def symbols(path):
    output = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        kind, name = line.split()[-2:]
        yield kind, name.split("@")[0]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    objects = [path for folder in sys.argv[1:] for path in sorted(Path(folder).rglob("*.cc.o"))
               if path.name.split(".")[0].rsplit("_", 1)[-1] in (*TIERS, "fma")]
    problems = []
    for path in objects:
        is_kernel = not path.name.endswith("_fma.cc.o")
        rows = registered(path) if is_kernel else set()
        defined = set()
        for kind, name in symbols(path):
            if kind in WEAK and name not in ("_GLOBAL_OFFSET_TABLE_",):
                problems.append(f"{path.name}: weak symbol {name}")
            if kind == "U" and MATHEMATICS.match(name):
                problems.append(f"{path.name}: calls {name} of the C library")
            if is_kernel and kind in "TBDR":
                match = KERNEL_NAME.match(name)
                if match:
                    defined.add(match.group(1))
                else:
                    problems.append(f"{path.name}: visible symbol {name}")
        problems += [f"{path.name}: defines {name}, which has no row" for name in sorted(defined - rows)]
        problems += [f"{path.name}: lacks {name}" for name in sorted(rows - defined)]
    for problem in problems:
        print(problem)
    print(f"check_kernel_symbols: {len(objects)} objects, {len(problems)} problems")
    return 1 if problems or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
