"""Refuses a class name that two classes of the service have: `python -m tests.class_names`, in `scripts/check`.

A reader who meets the name knows the type.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path


def main() -> int:
    """Prints the modules of each such name; the exit status is 1 where there is one."""
    found = find_repeated({str(path): path.read_text() for path in sorted(Path("service").rglob("*.py"))})
    for name, paths in found.items():
        sys.stderr.write(f"{name} is a class in {' and '.join(paths)}; give one of them a name of its own\n")
    return 1 if found else 0


def find_repeated(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The paths of each name that several classes have. A word of a docstring never follows `class` at a line's start."""
    paths = defaultdict[str, list[str]](list)
    for path, text in texts.items():
        for name in re.findall(r"^class (\w+)[(:]", text, re.MULTILINE):
            paths[name].append(path)
    return {name: found for name, found in paths.items() if len(found) > 1}


if __name__ == "__main__":
    sys.exit(main())
