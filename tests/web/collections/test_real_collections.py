"""Movies, airports and flights: real data with gaps and mistakes, through HTTP and through the demo's loader."""

import asyncio
import json
from importlib.resources import files
from typing import Any

import pytest

from service.seeding.demo.collections import DemoCollections
from service.services import Services
from tests.conftest import Api
from tests.declared import add, declare, find, violations

DATA = files("service.seeding.demo") / "data"
SCHEMAS = json.loads((DATA / "collections.json").read_text("utf-8"))
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


@pytest.fixture
async def loaded(api: Api, services: Services) -> tuple[Api, list[str], list[tuple[str, int, int]]]:
    """A project with the demo's collections, what the loader said, and the progress it told of."""
    told: list[tuple[str, int, int]] = []
    loader = DemoCollections(services.collections, services.documents)
    report = await loader.load(api.project, lambda name, done, of: told.append((name, done, of)))
    return api, report, told


async def test_the_demo_loads_everything_and_says_what_it_changed(
    loaded: tuple[Api, list[str], list[tuple[str, int, int]]],
) -> None:
    api, report, told = loaded
    assert report == [
        "movies: 3,201 documents",
        "  9 titles are numbers in the source and were stored as text: 1776, 1941, 1408, 2012, 2046, 21, 300, 9, 54",
        "airports: 3,376 documents",
        "flights: 2,000 documents",
    ]
    assert [row for row in told if row[1] == row[2]] == [
        ("movies", 3201, 3201),
        ("airports", 3376, 3376),
        ("flights", 2000, 2000),
    ]
    found = {query: await total(api, query, "movies") for query, _ in MOVIES}
    assert found == dict(MOVIES)
    assert {query: await total(api, query, "flights") for query, _ in FLIGHTS} == dict(FLIGHTS)
    assert await total(api, "", "airports") == 3376


async def test_a_page_of_flights_carries_its_airports(
    loaded: tuple[Api, list[str], list[tuple[str, int, int]]],
) -> None:
    api, _, _ = loaded
    body = (await find(api, "origin.state_eq=CA&populate=origin,destination&limit=236", "flights")).json()
    assert len(body["documents"]) == body["total"] == 236
    for document in body["documents"]:
        data = document["data"]
        assert data["origin"]["id"] == data["origin_id"]
        assert data["origin"].keys() == {"id", "data"}
        assert data["origin"]["data"]["state"] == "CA"
        assert data["destination"]["data"].keys() == SCHEMAS["airports"].keys()
    (first,) = (await find(api, "limit=1&populate=*", "flights")).json()["documents"]
    assert first["data"]["date"] == "2001-01-01T06:55:00.000Z"
    assert (first["data"]["origin"]["data"]["iata"], first["data"]["destination"]["data"]["iata"]) == ("LAX", "BNA")


async def test_every_movie_posted_as_it_is_in_the_source(api: Api) -> None:
    """Nine titles are numbers: each is refused at its path, and taken as text."""
    await declare(api, SCHEMAS["movies"], "movies")
    rows = json.loads((DATA / "movies.json").read_text("utf-8"))
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
