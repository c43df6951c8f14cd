"""A mistake in a manifest is one line that names the file, the path in it, and what to change."""

from pathlib import Path

import pytest

from service.errors import ConfigurationError
from service.seeding.manifest import read_manifest

PROJECT = "project: {id: p, name: P}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "manifest: Input should be a valid", id="empty"),
        pytest.param("project: {id: p}", "project.name: Field required", id="missing"),
        pytest.param(f"{PROJECT}user: []", "user: Extra inputs are not permitted", id="unknown"),
        pytest.param(f"{PROJECT}users: [{{}}]", "users[0]: give either rows or a file", id="no origin"),
        pytest.param(
            f"{PROJECT}users: [{{file: a.xml}}]", "users[0]: file must end in .json, .jsonl or .csv", id="format"
        ),
        pytest.param(
            f"{PROJECT}collections: {{a: {{schema: {{}}, documents: [{{rows: []}}]}}}}",
            "collections.a.documents[0].key: Field required",
            id="key",
        ),
        pytest.param(
            f"{PROJECT}rules: [1]",
            "rules: must be the body of PUT /api/rules, or the path of a file with it",
            id="rules",
        ),
        pytest.param(f"{PROJECT}project: {{}}", 'not valid YAML: "project" occurs twice', id="repeated"),
        pytest.param("a: [", "not valid YAML: ", id="syntax"),
        pytest.param("[" * 5_000, "not valid YAML: nested too deeply", id="deep"),
    ],
)
def test_a_mistake_is_named_on_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        read_manifest(path)
    assert error.value.detail.startswith(f"{path}: {expected}")
    assert "\n" not in error.value.detail


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("9" * 30, "an integer must have at most 64 bits in "),
        ("9" * 5_000, "an integer must have at most 64 bits in "),
        ("-9223372036854775809", "an integer must have at most 64 bits in "),
        (".nan", "a number must be between -1.8e308 and 1.8e308 in "),
        ("-.inf", "a number must be between -1.8e308 and 1.8e308 in "),
        ("{1: x}", 'a name must be text, which "1" is not; put quotes around it in '),
        ("{true: x}", 'a name must be text, which "True" is not; put quotes around it in '),
        ("!!set {a, b}", "set is no type of JSON in "),
        ("!!binary aGVsbG8=", "binary is no type of JSON in "),
        ("!!timestamp x", "timestamp is no type of JSON in "),
        ("!own x", "!own is no type of JSON in "),
        (r'"\ud800"', "an unpaired surrogate is not a character in "),
        (r'{"\udc00\ud800": 1}', "an unpaired surrogate is not a character in "),
        ("!!bool maybe", "'maybe'"),
        ('!!int ""', ""),
        ("!!float x", ""),
    ],
)
def test_n37_a_value_that_json_does_not_have_is_refused(tmp_path: Path, value: str, expected: str) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(f"{PROJECT}users: [{{rows: [{{a: {value}}}]}}]")
    with pytest.raises(ConfigurationError) as error:
        read_manifest(path)
    assert error.value.detail.startswith(f"{path}: not valid YAML: {expected}")
    assert "\n" not in error.value.detail


def test_a_pair_of_escapes_is_one_character(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text(r'{"project": {"id": "p", "name": "\ud83d\ude00 é"}}')
    assert read_manifest(path).project.name == "😀 é"


def test_the_largest_integers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(f"{PROJECT}users: [{{rows: [{{a: {2**63 - 1}, b: {-(2**63)}, c: 1.5}}]}}]")
    (source,) = read_manifest(path).users
    assert source.rows == ({"a": 2**63 - 1, "b": -(2**63), "c": 1.5},)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file or directory"):
        read_manifest(tmp_path / "absent.yaml")


def test_dates_and_on_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(PROJECT + "users: [{rows: [{born: 2001-02-03, on: yes, ok: true}]}]")
    (source,) = read_manifest(path).users
    assert source.rows == ({"born": "2001-02-03", "on": "yes", "ok": True},)
