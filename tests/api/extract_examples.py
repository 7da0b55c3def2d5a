#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the examples of the documentation as C programs: extract_examples.py SOURCE_DIR OUT_DIR.

header_example.c is the comment at the top of rill.h inside main(); docs_example.c the first C block of docs/c-api.md,
text_example.c that of docs/c-api-text.md.
"""

import re
import sys
from pathlib import Path


def header_example(text):
    comment = text[: text.index("*/")]
    # The example's lines are indented by two more columns after the star.
    lines = [line[3:] for line in comment.splitlines() if line.startswith(" *   ")]
    return "#include <rill/rill.h>\n#include <stdio.h>\n\nint main(void) {\n" + "\n".join(lines) + "\n  return 0;\n}\n"


def docs_example(text):
    return re.search(r"```c\n(.*?)```", text, re.S).group(1)


def main():
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    header = (source / "include/rill/rill.h").read_text(encoding="utf-8")
    docs = (source / "docs/c-api.md").read_text(encoding="utf-8")
    (out / "header_example.c").write_text(header_example(header), encoding="utf-8")
    (out / "docs_example.c").write_text(docs_example(docs), encoding="utf-8")
    text = (source / "docs/c-api-text.md").read_text(encoding="utf-8")
    (out / "text_example.c").write_text(docs_example(text), encoding="utf-8")


if __name__ == "__main__":
    main()
