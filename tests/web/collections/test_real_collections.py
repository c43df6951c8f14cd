"""Movies, airports and flights: real data with gaps and mistakes, through HTTP and through the demo's manifest."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from service.cli.demo import MANIFEST
from service.seeding.report import Report
from service.services import Services
from tests.conftest import Api
from tests.declared import add, declare, find, violations
from tests.demo import DEMO, seed_demo
from tests.pool import Pool

SCHEMAS = {name: part.declared for name, part in DEMO.collections.items()}
INTEGER_TITLES = [1776, 1941, 1408, 2012, 2046, 21, 300, 9, 54]

MOVIES = [
    ("", 3201),
    ("IMDB Rating_gte=8.5", 48),
    ("Major Genre_eq=Drama", 789),
    ("Director_isnull=true", 1331),
    ("Director_contains=Spielberg", 23),
    ("Title_in=1776,300", 2),
]
FLIGHTS = [("", 2000), ("origin.state_eq=CA", 236), ("delay_gte=60", 99)]


async def total(api: Api, query: str, name: str) -> Any:
    response = await find(api, query, name)
    assert response.status_code == 200, response.text
    return response.json()["total"]


@pytest.fixture(scope="module")
async def seeded(pool: Pool) -> AsyncIterator[dict[int, tuple[str, Report]]]:
    """The results of seeding the demo, by the use of the pool in which it was done: its tests only read."""
    yield {}
    await pool.empty()


@pytest.fixture
async def demo(
    pool: Pool,
    seeded: dict[int, tuple[str, Report]],
    services: Services,
    http: httpx2.AsyncClient,
    mongo: MongoClient[Any],
    database_prefix: str,
) -> Api:
    # Another test may have emptied everything since.
    if pool.times not in seeded:
        seeded[pool.times] = await seed_demo(services, users=(), files=())
    key, report = seeded[pool.times]
    assert {kind: dict(counter) for kind, counter in report.counts.items()} == {
        "project": {"created": 1},
        "collections": {"created": 6},
        "movies": {"created": 3201},
        "airports": {"created": 3376},
        "flights": {"created": 2000},
        "cards": {"created": 7},
        "rules": {"created": 1},
        "aggregations": {"created": 1},
    }
    return Api(await services.base.admin.find("demo"), key, http, mongo[f"{database_prefix}p_demo"])


async def test_the_demo_has_everything(demo: Api) -> None:
    found = {query: await total(demo, query, "movies") for query, _ in MOVIES}
    assert found == dict(MOVIES)
    assert {query: await total(demo, query, "flights") for query, _ in FLIGHTS} == dict(FLIGHTS)
    assert await total(demo, "", "airports") == 3376


async def test_titles_that_are_numbers_in_the_source_are_text(demo: Api) -> None:
    titles = ",".join(map(str, INTEGER_TITLES))
    found = (await find(demo, f"Title_in={titles}&limit=20", "movies")).json()["documents"]
    assert sorted(document["data"]["Title"] for document in found) == sorted(map(str, INTEGER_TITLES))


async def test_a_page_of_flights_carries_its_airports(demo: Api) -> None:
    body = (await find(demo, "origin.state_eq=CA&populate=origin,destination&limit=236", "flights")).json()
    assert len(body["documents"]) == body["total"] == 236
    for document in body["documents"]:
        data = document["data"]
        assert data["origin"]["id"] == data["origin_id"]
        assert data["origin"].keys() == {"id", "data"}
        assert data["origin"]["data"]["state"] == "CA"
        assert data["destination"]["data"].keys() == SCHEMAS["airports"].keys()
    (first,) = (await find(demo, "limit=1&populate=*", "flights")).json()["documents"]
    assert first["data"]["date"] == "2001-01-01T06:55:00.000Z"
    assert (first["data"]["origin"]["data"]["iata"], first["data"]["destination"]["data"]["iata"]) == ("LAX", "BNA")


async def test_every_movie_posted_as_it_is_in_the_source(api: Api) -> None:
    """Nine titles are numbers: each is refused at its path, and taken as text."""
    await declare(api, SCHEMAS["movies"], "movies")
    rows = json.loads((MANIFEST.parent / "movies.json").read_text("utf-8"))
    refused = []
    for start in range(0, len(rows), 50):
        batch = rows[start : start + 50]
        responses = await asyncio.gather(*(add(api, row, "movies") for row in batch))
        refused += [
            (row, response) for row, response in zip(batch, responses, strict=True) if response.status_code != 201
        ]
    assert [row["Title"] for row, _ in refused] == INTEGER_TITLES
    assert [violations(response) for _, response in refused] == [[("body", "data", "Title", "string_type")]] * 9
    assert [response.json()["detail"][0]["msg"] for _, response in refused] == ["Must be text or null"] * 9
    for row, _ in refused:
        assert (await add(api, {**row, "Title": str(row["Title"])}, "movies")).status_code == 201
    assert {query: await total(api, query, "movies") for query, _ in MOVIES} == dict(MOVIES)
