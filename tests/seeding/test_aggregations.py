"""Saved aggregations in a manifest: saved once, changed where they differ, and refused as by HTTP."""

from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from service.services import Services
from tests.demo import seed_demo
from tests.seeding.test_seed import Run, counts, run

__all__ = ["run"]

BOOKS = """
project: {id: library, name: Library}
collections:
  books: {schema: {title: {type: string}, pages: {type: integer}}}
"""
ONE = "{collection: books, aggregate: {where: {pages_gte: $least}, values: {n: count}}, parameters: {least: {type: integer}}}"


async def test_aggregations_are_saved_once_and_changed_where_they_differ(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    saved, manifest = mongo[f"{database_prefix}p_library"]["aggregations"], f"{BOOKS}aggregations: {{long: {ONE}}}"
    assert counts(await run(manifest, dry_run=True))["aggregations"] == {"created": 1}
    assert f"{database_prefix}p_library" not in mongo.list_database_names()
    assert counts(await run(manifest))["aggregations"] == {"created": 1}
    first = saved.find_one()
    assert counts(await run(manifest))["aggregations"] == {"unchanged": 1}
    assert saved.find_one() == first
    other = manifest.replace("pages_gte", "pages_gt")
    shown = await run(other, dry_run=True)
    assert shown.differences["aggregations"] == [
        '~ aggregations long: aggregate: {"where":{"pages_gte":"$least"},"values":{"n":"count"}} -> '
        '{"where":{"pages_gt":"$least"},"values":{"n":"count"}}'
    ]
    assert saved.find_one() == first
    assert counts(await run(other))["aggregations"] == {"updated": 1}
    # Aggregations that a manifest does not name are left.
    assert "aggregations" not in counts(await run(BOOKS))
    assert saved.count_documents({}) == 1


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "run"])
async def test_one_that_is_refused_does_not_stop_the_others(run: Run, dry_run: bool) -> None:
    await run(BOOKS)
    bad = "{collection: books, aggregate: {group: {a: author}}}"
    report = await run(f"{BOOKS}aggregations: {{bad: {bad}, long: {ONE}}}", dry_run=dry_run)
    assert counts(report)["aggregations"] == {"refused": 1, "created": 1}
    line = "! aggregations.bad: aggregate.group.a: There is no such field in this collection"
    assert report.refusals["aggregations"] == [line]


async def test_a_definition_is_judged_before_there_is_a_project(run: Run) -> None:
    bad = "{collection: books, aggregate: {values: {n: sum}}}"
    report = await run(f"{BOOKS}aggregations: {{bad: {bad}}}", dry_run=True)
    (line,) = report.refusals["aggregations"]
    assert line.startswith("! aggregations.bad: aggregate.values.n: A value is ")


async def test_guests_run_the_one_of_the_demo(emptied: None, services: Services, http: httpx2.AsyncClient) -> None:
    _, report = await seed_demo(services, users=(), files=())
    assert counts(report)["aggregations"] == {"created": 1}
    guest = {"x-api-key": (await services.base.keys.create("demo", "publishable", "a page")).key}
    found = await http.get("/api/aggregations/delays_by_state?least=15", headers=guest)
    assert found.status_code == 200, found.text
    flights = [row["flights"] for row in found.json()["rows"]]
    assert (len(flights), flights) == (10, sorted(flights, reverse=True))
    assert all(row["worst"] >= row["mean_delay"] >= 15 for row in found.json()["rows"])
