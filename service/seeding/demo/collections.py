"""The demo project's movies, airports and flights: declared and loaded through the code that answers the API."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from service.domain.collections.collections import Collections
from service.domain.documents.documents import CreateResult, Documents
from service.domain.projects.lookup import Project
from service.errors import ConfigurationError, Invalid, ServiceError

BATCH = 500

Row = Mapping[str, Any]
# Called with the name of a collection, how many of its documents are done, and how many there are.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class DemoCollections:
    """What loads them."""

    collections: Collections
    documents: Documents

    async def load(self, project: Project, progress: Progress) -> list[str]:
        """Declares and fills the three, and returns one line on each. Raises ConfigurationError for a refused row."""
        movies, numeric = _movies()
        lines = [f"movies: {len(await self._fill(project, 'movies', movies, progress)):,} documents"]
        lines.append(f"  {len(numeric)} titles are numbers in the source and were stored as text: {', '.join(numeric)}")
        airports = await self._fill(project, "airports", _airports(), progress)
        ids = {document["data"]["iata"]: document["_id"] for document in airports}
        flights = await self._fill(project, "flights", _flights(ids), progress)
        return [*lines, f"airports: {len(airports):,} documents", f"flights: {len(flights):,} documents"]

    async def _fill(self, project: Project, name: str, rows: Sequence[Row], progress: Progress) -> list[dict[str, Any]]:
        await self.collections.create(project, name, json.loads(_read("collections.json"))[name])
        documents: list[dict[str, Any]] = []
        for batch in _batches(rows):
            progress(name, len(documents), len(rows))
            documents += map(_stored, await self.documents.create_each(project, name, batch))
        progress(name, len(documents), len(rows))
        return documents


def _stored(outcome: CreateResult) -> dict[str, Any]:
    if isinstance(outcome, ServiceError):
        reason = outcome.violations[0] if isinstance(outcome, Invalid) else outcome.detail
        raise ConfigurationError(f"A row of the demo data was refused: {reason}")
    return outcome


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))


def _movies() -> tuple[list[Row], list[str]]:
    """The rows, and the titles that are numbers in the source: a title is text, so they are made text and reported."""
    rows = json.loads(_read("movies.json"))
    numeric = [str(row["Title"]) for row in rows if isinstance(row["Title"], int)]
    for row in rows:
        row["Title"] = str(row["Title"]) if isinstance(row["Title"], int) else row["Title"]
    return rows, numeric


def _airports() -> list[Row]:
    rows = csv.DictReader(_read("airports.csv").splitlines())
    return [{**row, "latitude": float(row["latitude"]), "longitude": float(row["longitude"])} for row in rows]


def _flights(ids: Mapping[str, str]) -> list[Row]:
    """`2001/01/01 06:55` is the source's form of a time; the ids of the airports take the place of their codes."""
    return [
        {
            "date": flight["date"].replace("/", "-"),
            "delay": flight["delay"],
            "distance": flight["distance"],
            "origin_id": ids[flight["origin"]],
            "destination_id": ids[flight["destination"]],
        }
        for flight in json.loads(_read("flights-2k.json"))
    ]


def _read(name: str) -> str:
    return (files("service.seeding.demo") / "data" / name).read_text("utf-8")
