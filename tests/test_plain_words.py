"""The check of sentences finds what hides its subject, and passes what names it."""

from pathlib import Path

import pytest

from service.web.openapi.document import build_document
from service.web.routes import ROUTES
from tests.plain_words import PUBLISHED, find_faults, main

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "sentence",
    [
        "Who has no token is refused.",
        "Whoever comes first wins.",
        "Those who follow are notified.",
        "Of one line.",
        "What is stored.",
        "How many there are.",
        "Whether the token is valid.",
        "Where no rule allows it, the caller is refused.",
        "The client is told.",
        "Reads the project anew.",
        "Closes what a worker has let go of.",
        "The code that nobody used.",
        "True if the token is valid. Whoever sent it may go on.",
        "True if the token is valid.\n\n    What is expired is not.",
    ],
)
@pytest.mark.parametrize("source", ['def f():\n    """{}"""', "# {}\nx = 1", "x = 1  # {}", 'x = 1\n"""{}"""'])
def test_the_check_refuses_a_sentence_that_hides_its_subject(sentence: str, source: str) -> None:
    text = sentence if source.startswith("def") else " ".join(sentence.split())
    (fault,) = find_faults(source.format(text))
    assert fault.split(":")[0] in {"1", "2", "4"}
    assert fault.endswith(")")


@pytest.mark.parametrize(
    "text",
    [
        "Maximum bytes of one line.",
        "True if the token is valid, whoever sent it.",
        "Refuses a sentence that begins with `Who`, or is `anew`.",
        'A sentence such as "Whoever comes first" is quoted.',
        "noqa: S603 - our own modules",
        "Office hours. However, Whose-names are names.",
    ],
)
def test_the_check_passes_a_sentence_that_names_its_subject(text: str) -> None:
    assert find_faults(f"x = 1  # {text}") == []


def test_lines_of_a_comment_are_one_text_and_code_between_them_ends_it() -> None:
    source = "# The clients are\n# told.\nx = 1\n# Maximum bytes\ny = 1\n# of one line."
    assert [fault.partition(" (")[0] for fault in find_faults(source)] == ["1: The clients are told."]


def test_strings_of_code_are_no_prose() -> None:
    assert find_faults('print("Nobody was told")\nx = {"Who": "anew"}') == []


def test_the_check_exits_with_1_and_names_place_sentence_and_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.py").write_text('\n"""Of one line."""\n')
    assert main([str(tmp_path)]) == 1
    assert f"{tmp_path}/bad.py:2: Of one line. (begin with the noun: " in capsys.readouterr().err


def test_each_exception_is_a_sentence_of_the_openapi_document() -> None:
    text = " ".join(str(build_document(ROUTES)).replace("\\n", " ").replace("\\'", "'").split())
    assert [sentence for sentence in PUBLISHED if sentence.rstrip(".") not in text] == []


def test_the_check_is_part_of_scripts_check() -> None:
    assert "-m tests.plain_words" in (ROOT / "scripts" / "check").read_text()
