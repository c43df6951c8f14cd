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
        pytest.param(f"{PROJECT}project: {{}}", 'not valid YAML: "project" stands twice', id="repeated"),
        pytest.param("a: [", "not valid YAML: ", id="syntax"),
    ],
)
def test_a_mistake_is_named_on_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        read_manifest(path)
    assert error.value.detail.startswith(f"{path}: {expected}")
    assert "\n" not in error.value.detail


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file or directory"):
        read_manifest(tmp_path / "absent.yaml")


def test_dates_and_on_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(PROJECT + "users: [{rows: [{born: 2001-02-03, on: yes, ok: true}]}]")
    (source,) = read_manifest(path).users
    assert source.rows == ({"born": "2001-02-03", "on": "yes", "ok": True},)
