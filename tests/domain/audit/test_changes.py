"""The changes of an audit entry: paths, hidden secrets, bounds."""

import json
from typing import Any

import pytest

from service.bounds import MAX_AUDIT_BYTES, MAX_AUDIT_CHANGES, MAX_AUDIT_COUNTED, MAX_AUDIT_VALUE
from service.domain.audit.changes import HIDDEN, NO_CHANGES, compare

Json = dict[str, Any]


def change(*path: str, before: Any = None, after: Any = None) -> Json:
    return {"path": list(path), "before": before, "after": after}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({}, {"b": 2, "a": 1}, [change("a", after=1), change("b", after=2)], id="added, by name"),
        pytest.param({"a": 1}, {}, [change("a", before=1)], id="removed"),
        pytest.param(
            {"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [change("a", "c", before=2, after=3)], id="inside"
        ),
        pytest.param({"a": {"b": 1}}, {"a": 2}, [change("a", before={"b": 1}, after=2)], id="another kind"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, [change("a", before=[1, 2], after=[1, 3])], id="lists as a whole"),
        pytest.param({"a": None}, {}, [], id="null is absent"),
        pytest.param({"a": 1}, {"a": 1.0}, [], id="equal numbers"),
        pytest.param({"S": "x"}, {"S": "y"}, [change("S", before=HIDDEN, after=HIDDEN)], id="a secret"),
        pytest.param({}, {"x": {"S": "y"}}, [change("x", "S", after=HIDDEN)], id="a new object"),
        pytest.param(
            {"x": 1}, {"x": {"S": "y"}}, [change("x", before=1, after={"S": HIDDEN})], id="a secret in a value"
        ),
        pytest.param({}, {"x": [{"S": "y"}]}, [change("x", after=[{"S": HIDDEN}])], id="a secret in a list"),
        pytest.param({"x": {}}, {"x": {"S": {"k": 1}}}, [change("x", "S", after=HIDDEN)], id="a secret inside"),
        pytest.param({"S": "x"}, {"S": "x"}, [], id="a secret that stays"),
    ],
)
def test_the_changes_of(before: Json, after: Json, changes: list[Json]) -> None:
    kept = compare(before, after, secrets=frozenset({"S"}))
    assert (json.loads(kept.text), kept.omitted) == (changes, 0)


def test_no_changes_are_equal_to_none() -> None:
    assert compare({"a": {"b": 1}}, {"a": {"b": 1}}) == NO_CHANGES


def test_an_entry_keeps_the_first_changes_and_counts_the_others() -> None:
    kept = compare({}, {f"n{number:04}": number for number in range(MAX_AUDIT_CHANGES + 7)})
    changes = json.loads(kept.text)
    assert (len(changes), kept.omitted) == (MAX_AUDIT_CHANGES, 7)
    assert changes[-1]["path"] == ["n0099"]


def test_the_changes_of_an_entry_have_so_many_bytes_and_no_more() -> None:
    kept = compare({}, {f"n{number:04}": "é" * 400 for number in range(50)})
    assert MAX_AUDIT_BYTES - 1_000 < len(kept.text.encode()) <= MAX_AUDIT_BYTES
    assert len(json.loads(kept.text)) + kept.omitted == 50


def test_the_count_of_omitted_changes_ends() -> None:
    kept = compare({}, dict.fromkeys(map(str, range(MAX_AUDIT_COUNTED * 2)), 1))
    assert kept.omitted == MAX_AUDIT_COUNTED


@pytest.mark.parametrize("value", ["x" * 2_000_000, ["x" * 9] * 1_000, [{"a": "x" * 1_001}], "é" * 1_001])
def test_a_long_value_is_cut(value: Any) -> None:
    (shown,) = json.loads(compare({}, {"a": value}).text)
    assert len(shown["after"]) == MAX_AUDIT_VALUE
    assert shown["after"].endswith("…")


def test_a_value_at_the_bound_stays() -> None:
    assert json.loads(compare({}, {"a": "x" * MAX_AUDIT_VALUE}).text) == [change("a", after="x" * MAX_AUDIT_VALUE)]
