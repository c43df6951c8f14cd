"""Sightings are fields that only grow, as the time of a last use; many are written by one command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymongo import UpdateOne

from service.storage.databases import ProjectDatabase
from service.storage.records import translated

# The driver takes 5 ms of the event loop to encode so many updates.
WRITTEN_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Sighting:
    """Each of `fields` of the record `id` has at least the value given here."""

    id: str
    fields: Mapping[str, Any]


async def note_sightings(database: ProjectDatabase, collection: str, sightings: Sequence[Sighting]) -> None:
    """Sends one command for each WRITTEN_AT_ONCE sightings. A record that is gone is not made again."""
    for start in range(0, len(sightings), WRITTEN_AT_ONCE):
        some = sightings[start : start + WRITTEN_AT_ONCE]
        writes = [UpdateOne({"_id": each.id}, {"$max": each.fields}) for each in some]
        with translated(f"note {collection}"):
            await database.database[collection].bulk_write(writes, ordered=False)
