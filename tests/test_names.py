"""The names of the service's classes."""

import re
from collections import Counter
from pathlib import Path


def test_one_class_name_means_one_type() -> None:
    """A reader who meets the name knows the type."""
    texts = (path.read_text() for path in Path("service").rglob("*.py"))
    names = Counter(name for text in texts for name in re.findall(r"^class (\w+)", text, re.MULTILINE))
    assert len(names) > 900
    assert {name: count for name, count in names.items() if count > 1} == {}
