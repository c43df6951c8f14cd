"""Row J23: which texts are names, and which names are the same."""

from typing import Any

import pytest

from service.schema.user_names import fold_name, is_name, key_of


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("ann", True),
        ("Ann.B-1_x", True),
        ("Зоя", True),
        ("東京都", True),
        ("e\u0301va", True),
        ("a" * 32, True),
        ("a" * 33, False),
        ("an", False),
        ("", False),
        ("ann@example.com", False),
        ("ann b", False),
        ("ann\n", False),
        ("ann\u200b", False),
        ("ann\u0338", False),
        ("an²", False),
        ("an\0n", False),
        (None, False),
        (123, False),
    ],
)
def test_j23_a_name_has_letters_digits_and_three_signs(name: Any, good: bool) -> None:
    assert is_name(name) is good


@pytest.mark.parametrize(
    "names",
    [
        ("ann", "ANN", "Ann", "\uff21nn", "\u00e1nn", "a\u0301nn"),
        ("strasse", "straße", "STRASSE"),
        ("soren", "søren", "Sören"),
        ("ili", "\u0131l\u0131", "\u0130L\u0130"),
        ("зоя", "ЗОЯ"),
        ("σοφος", "σοφός", "ΣΟΦΟΣ"),
    ],
)
def test_j23_case_width_and_accents_make_no_other_name(names: tuple[str, ...]) -> None:
    assert {fold_name(name) for name in names} == {fold_name(names[0])}


def test_j23_other_letters_make_other_names() -> None:
    assert len({fold_name(name) for name in ("ann", "anna", "an.n", "an-n", "an_n", "\u0430nn")}) == 6


def test_a_text_longer_than_names_has_no_key() -> None:
    assert (key_of({"username": "A" * 256}), key_of({"username": "A" * 257})) == ("a" * 256, None)
