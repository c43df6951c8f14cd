"""The pipelines of aggregations: what the rewrites make of them. That they give the same rows, other tests show."""

from collections.abc import Iterator
from typing import Any

import pytest

from faults.aggregations.shop import SCHEMAS
from service.query.aggregate.bind import bind_aggregation
from service.query.aggregate.grammar import read_aggregation
from service.query.aggregate.nodes import BoundAggregation
from service.query.aggregate.plan import FAST, PLAIN, Stage, command, is_rewritten, pipeline
from service.query.shapes import DocumentShape
from service.schema.fields import parse

SHAPES: dict[str, DocumentShape] = {}
SHAPES |= {name: DocumentShape(f"c_{name}", parse(schema), SHAPES.get) for name, schema in SCHEMAS.items()}


def bound(**body: Any) -> BoundAggregation:
    return bind_aggregation(read_aggregation(body, ("body",)), SHAPES["orders"], ("body",))


def names(stages: list[Stage]) -> list[str]:
    return [next(iter(stage)) for stage in stages]


def every_name(value: Any) -> Iterator[str]:
    """All names of a pipeline, at any depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from every_name(each)


def test_groups_are_made_by_the_id_of_a_relation_before_it_is_looked_up() -> None:
    aggregation = bound(group={"city": "buyer.city"}, values={"n": "count"})
    assert is_rewritten(aggregation)
    assert names(pipeline(aggregation, FAST))[:2] == ["$group", "$lookup"]
    assert names(pipeline(aggregation, PLAIN))[:2] == ["$lookup", "$group"]


def test_a_relation_is_looked_up_once_whatever_else_is_grouped_by() -> None:
    aggregation = bound(group={"city": "buyer.city", "state": "buyer.data.home.state", "status": "status"})
    stages = pipeline(aggregation, FAST)
    assert names(stages).count("$lookup") == 1
    # The groups of an id are put together first, so that each id is looked up once.
    assert names(stages)[:3] == ["$group", "$group", "$lookup"]


def test_relations_of_relations_are_looked_up_for_the_groups_of_the_first() -> None:
    stages = pipeline(bound(group={"company": "buyer.company.name"}), FAST)
    found = [name for name in names(stages) if name in {"$group", "$lookup"}]
    assert found == ["$group", "$lookup", "$group", "$lookup", "$group"]


@pytest.mark.parametrize(
    ("key", "is_so"),
    [
        ({"every": "month", "timezone": "Europe/Paris"}, True),
        ({"every": "day", "timezone": "Europe/Paris"}, True),
        ({"every": "hour", "timezone": "Europe/Paris"}, False),
        ({"every": "month"}, False),
        ({"every": "month", "timezone": "+05:37"}, False),
    ],
    ids=str,
)
def test_dates_are_grouped_by_quarters_of_an_hour_where_a_calendar_is_needed(key: Any, is_so: bool) -> None:
    aggregation = bound(group={"k": {"field": "at", **key}}, values={"n": "count"})
    assert is_rewritten(aggregation) is is_so
    assert (names(pipeline(aggregation, FAST))[:2] == ["$group", "$group"]) is is_so
    assert names(pipeline(aggregation, PLAIN)).count("$group") == 1


def test_different_values_are_counted_by_groups_and_never_held_in_one() -> None:
    two = {"n": "count", "buyers": {"count_distinct": "buyer_id"}, "days": {"count_distinct": "at"}}
    aggregation = bound(group={"status": "status"}, values=two)
    stages = pipeline(aggregation, FAST)
    assert names(stages)[:4] == ["$group", "$group", "$unionWith", "$group"]
    assert names(stages[2]["$unionWith"]["pipeline"]) == ["$group", "$group"]
    assert "$addToSet" not in set(every_name(stages))


def test_nothing_is_written_to_disk_and_no_more_rows_come_than_are_asked_for() -> None:
    found = command(bound(group={"status": "status"}, limit=7), FAST)
    assert found["allowDiskUse"] is False
    assert found["cursor"] == {"batchSize": 8}
    assert {"$limit": 7} in found["pipeline"]


def test_what_a_client_names_never_reaches_mongodb() -> None:
    odd = bound(group={"__proto__ x": "status"}, values={"_id": "count"}, sort_by=["_id"], having={"_id_gte": 1})
    found = set(every_name(pipeline(odd, FAST)))
    assert "__proto__ x" not in found
    assert not {"$out", "$merge", "$function", "$accumulator", "$where"} & found
