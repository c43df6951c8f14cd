"""The twelve examples of docs/access.md, as the page prints them."""

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "access.md"
SECTION = re.compile(r"^### (\d+)\. .*?(?=^### |^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)


def read_example(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schemas of an example by the names of their collections, and the body of `PUT /api/rules`."""
    section = next(found[0] for found in SECTION.finditer(PAGE.read_text()) if found[1] == str(number))
    schemas, rules = map(json.loads, BLOCK.findall(section))
    return schemas, rules
