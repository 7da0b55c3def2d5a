#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: a folder sees what the table below names, and nothing else.

The table is the one of HACKING.md. Kernel files (src/kernels/<family>/) see only C headers, intrinsics, quant/blocks.h
and headers of src/kernels: their code is compiled for one kernel tier, so nothing that the linker could share with other
code may come in. Prints each violation as file:line and exits with 1 if there is one.
check_includes.py [ROOT]: ROOT is the repository, by default the one that this script lies in.
"""

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()

LOW = {"base", "tensor"}
OPS = LOW | {"quant", "format", "ops"}
MODELS = OPS | {"text", "audio", "model/weights"}
TASKS = MODELS | {"codec", "session", "model/lfm2", "model/lfm2_audio"}
ALL_MODELS = {"model/" + name for name in
              ("lfm2", "conformer", "depthformer", "detokenizer", "silero_vad", "lfm2_audio", "weights")}

# Folder -> folders of src/ that it may include. A model family also sees its own subfolder, of course.
SEES = {
    "base": set(),
    "tensor": {"base"},
    "kernels": {"base"},
    "quant": LOW,
    "format": LOW,
    "ops": LOW | {"quant", "kernels"},
    "audio": LOW,
    "codec": LOW | {"audio"},
    "text": {"base", "format"},
    "model/weights": LOW | {"quant", "format"},
    "model/lfm2": MODELS,
    "model/conformer": MODELS,
    "model/depthformer": MODELS,
    "model/silero_vad": MODELS,
    # The detokenizer is an LFM2 backbone with another head.
    "model/detokenizer": MODELS | {"model/lfm2"},
    "model/lfm2_audio": MODELS | ALL_MODELS,
    "convert": MODELS | {"model/lfm2", "model/lfm2_audio"},
    "session": OPS | {"model/lfm2", "model/lfm2_audio", "model/depthformer"},
    "tasks": TASKS | ALL_MODELS,
    "inspect": TASKS | ALL_MODELS | {"kernels"},
    "verify": TASKS | ALL_MODELS | {"tasks"},
    "measure": TASKS | ALL_MODELS | {"tasks", "kernels"},
    "bindings": TASKS | ALL_MODELS | {"convert", "tasks", "inspect", "verify", "measure", "kernels", "rill"},
    "apps": {"rill"},
}

C_HEADERS = {"<float.h>", "<limits.h>", "<math.h>", "<stddef.h>", "<stdint.h>", "<string.h>"}
INTRINSICS = {"<immintrin.h>", "<arm_neon.h>", "<wasm_simd128.h>"}
# Headers of the operating system stay in files whose names say so; programs are free.
OS_HEADER = re.compile(r"<(sys/.*|unistd\.h|fcntl\.h|pthread\.h|signal\.h|dlfcn\.h|sched\.h|poll\.h|cpuid\.h)>")
OS_FILE = re.compile(r"_(posix|wasm)\.cc$|cpu_features\.cc$")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])')


def folder_of(path):
    """The row of the table that a path (relative to src/, or to the repository for others) belongs to."""
    parts = Path(path).parts
    if parts[0] == "model" and len(parts) > 1:
        return "model/" + parts[1]
    return parts[0]


def is_kernel_file(relative):
    """True for files of a kernel family and the vector headers, which are compiled per tier."""
    if relative.parts[:2] != ("src", "kernels"):
        return False
    return len(relative.parts) == 4 or relative.name.startswith(("vec_", "lanes_"))


def check_kernel_include(target):
    if target in C_HEADERS | INTRINSICS:
        return None
    if target == '"quant/blocks.h"' or target.startswith('"kernels/'):
        return None
    return f"a kernel file may not include {target}"


def check_include(relative, folder, target):
    """Returns what is wrong with this include, or None."""
    if is_kernel_file(relative) and relative.suffix != ".inc":
        return check_kernel_include(target)
    if target.startswith("<"):
        if relative.parts[0] == "src" and OS_HEADER.match(target) and not OS_FILE.search(relative.name):
            return f"{target} belongs into a *_posix.cc file"
        return None
    name = target.strip('"')
    if "/" not in name:  # a header beside the file
        return None if (ROOT / relative.parent / name).exists() or relative.parts[0] != "src" else f"{name} not found"
    seen = folder_of(name)
    if seen == folder or seen in SEES[folder]:
        return None
    return f"{folder} may not include {seen} ({name})"


def main():
    violations = []
    num_files = 0
    for top in ("src", "bindings", "apps"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cc", ".c", ".inc"):
                continue
            num_files += 1
            relative = path.relative_to(ROOT)
            folder = folder_of(relative.relative_to("src")) if top == "src" else top
            if folder not in SEES:
                violations.append(f"{relative}: folder {folder} is not in the table of tools/check_includes.py")
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                problem = match and check_include(relative, folder, match.group(1))
                if problem:
                    violations.append(f"{relative}:{number}: {problem}")
    for violation in violations:
        print(violation)
    print(f"check_includes: {num_files} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
