"""Related records in their places: which are shown, and how often each counts."""

from typing import Any

import pytest

from service.bounds import MAX_POPULATED
from service.errors import Invalid
from service.query.commands import page
from service.query.nodes import BoundQuery, Count, Expansion, Match
from service.query.populate import Row
from service.query.populate import attach as attach_shown
from service.schema.steps import finish

FIELDS = ("email", "data")


def attach(page: dict[str, list[Row]], expansions: tuple[Expansion, ...]) -> list[Row]:
    """Attaches the records of a page without files."""
    return finish(attach_shown(page, expansions, collection="users", show=lambda _: lambda _: None))


def row(id_: str, **data: Any) -> dict[str, Any]:
    return {"_id": id_, "email": f"{id_}@example.com", "data": data}


def chain(depth: int) -> tuple[Expansion, ...]:
    return (Expansion("friends", "friends_id", "users", FIELDS, chain(depth - 1)),) if depth else ()


def reply(depth: int, **data: Any) -> dict[str, list[dict[str, Any]]]:
    """A page of one record that may name itself, as each further relation finds it again."""
    keys = ["rows", *("_".join(["r0", *["0"] * number]) for number in range(depth))]
    return {key: [row("a", **{name: list(value) for name, value in data.items()})] for key in keys}


def test_the_lookups_of_a_chain_have_the_keys_that_attach_reads() -> None:
    query = BoundQuery("users", Match(), (("_id", 1),), 5, 0, Count.NONE, chain(3), ("email", "data"))
    lookups = [stage["$lookup"] for stage in page(query)["pipeline"] if "$lookup" in stage]
    assert [lookup["as"] for lookup in lookups] == ["r0", "r0_0", "r0_0_0"]
    assert [lookup["localField"] for lookup in lookups] == [
        "rows.data.friends_id",
        "r0.data.friends_id",
        "r0_0.data.friends_id",
    ]
    assert all("pipeline" not in lookup for lookup in lookups)
    assert page(query)["pipeline"][-1]["$project"].keys() == {
        "_id",
        *(f"{key}.{name}" for key in ("rows", "r0", "r0_0", "r0_0_0") for name in ("_id", "email", "data")),
    }


def test_a_chain_ends_where_it_was_asked_to_end() -> None:
    (found,) = attach(reply(2, friends_id=["a", "gone", 7, ["a"]]), chain(2))
    first = found["data"]["friends"]
    assert [each and each["id"] for each in first[:3]] == ["a", None, None]
    assert first[3][0]["id"] == "a"
    assert "friends" not in first[0]["data"]["friends"][0]["data"]


@pytest.mark.parametrize(("depth", "times"), [(1, 1_000), (2, 99), (3, 21)])
def test_as_many_records_as_may_be(depth: int, times: int) -> None:
    attach(reply(depth, friends_id=["a"] * times), chain(depth))


@pytest.mark.parametrize(("depth", "times"), [(1, MAX_POPULATED + 1), (2, 100), (3, 22), (3, 38_000)])
def test_a_record_counts_each_time_that_it_is_shown(depth: int, times: int) -> None:
    with pytest.raises(Invalid) as refused:
        attach(reply(depth, friends_id=["a"] * times), chain(depth))
    assert [violation.type for violation in refused.value.violations] == ["page_too_large"]


def test_bytes_count_each_time_that_they_are_shown() -> None:
    text = ["x" * 1_000_000]
    attach(reply(1, friends_id=["a"] * 15, text=text), chain(1))
    attach(reply(2, friends_id=["a"] * 3, text=text), chain(2))
    for depth, times in ((1, 17), (2, 4)):
        with pytest.raises(Invalid):
            attach(reply(depth, friends_id=["a"] * times, text=text), chain(depth))
