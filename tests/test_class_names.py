"""The check of class names finds those that two classes have."""

from pathlib import Path

from tests.class_names import find_repeated


def test_the_check_finds_a_name_of_two_classes() -> None:
    texts = {"a.py": "class One: ...\nclass Two(One): ...", "b.py": "class Two:\n    class One: ...\n"}
    assert find_repeated(texts) == {"Two": ["a.py", "b.py"]}


def test_the_check_is_part_of_scripts_check() -> None:
    assert "-m tests.class_names" in (Path(__file__).parents[1] / "scripts/check").read_text()
