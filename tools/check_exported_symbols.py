#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C library's symbols are those of include/rill/rill.h.

check_exported_symbols.py LIBRARY: for a shared library the exported symbols are exactly the header's functions; for a
static one (librill.a) each function is defined, and no C symbol without the prefix rill_ is. Exits with 1 otherwise.
"""

import re
import subprocess
import sys
from pathlib import Path

HEADER = Path(__file__).resolve().parent.parent / "include/rill/rill.h"


def header_functions():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    return set(re.findall(r"RILL_API\s[^;]*?\b(rill_\w+)\s*\(", text))


def defined_symbols(library):
    shared = ".so" in Path(library).name
    command = ["nm", "--defined-only", "--extern-only"] + (["--dynamic"] if shared else []) + [library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in output.splitlines())
    return shared, {row[2].split("@")[0] for row in rows if len(row) == 3}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    functions = header_functions()
    shared, symbols = defined_symbols(sys.argv[1])
    problems = [f"{name}: declared in rill.h, not in the library" for name in sorted(functions - symbols)]
    for name in sorted(symbols - functions):
        # Mangled names and the sanitizers' own are C++ internals, which only a shared library has to hide.
        internal = name.startswith(("_Z", "DW.ref.", "__asan", "__odr_asan", "__tsan"))
        if shared or not (internal or name.startswith("rill_")):
            problems.append(f"{name}: in the library, not declared in rill.h")
    for problem in problems:
        print(problem)
    print(f"check_exported_symbols: {len(functions)} functions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
