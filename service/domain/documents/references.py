"""References in documents that are written: each must name a record which the writer may read.

A document may hold thousands of ids in arrays of references, so they are collected and asked for in parts.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from service.bounds import MAX_REFERENCES
from service.domain.access.control import USERS
from service.domain.access.relations import readable_ids
from service.domain.documents.reader import Reader, TargetCollection
from service.domain.documents.writes import Data
from service.errors import Location, Violation
from service.query.commands import PROBE_LIMIT
from service.rules.permissions import Permissions
from service.storage.collections import mongo_collection_name
from service.storage.documents import Reference
from service.storage.documents import missing as find_missing

# Ids that are collected in one step, for about a millisecond.
TURN = 5_000


async def find_dangling(target: TargetCollection, data: Data, loc: Location) -> list[Violation]:
    """The references in `data`, which a body has at `loc`, that name no record."""
    return list_dangling(target, data, await find_gone(target, [data]), loc)


async def find_gone(target: TargetCollection, rows: Sequence[Data]) -> set[Reference]:
    gone = set[Reference]()
    for wanted in _pieces(await _collect(target, rows)):
        gone |= await _find_missing(target.reader, wanted)
    return gone


async def _collect(target: TargetCollection, rows: Sequence[Data]) -> dict[str, set[str]]:
    """The ids that the rows refer to, by MongoDB collection. A row may have thousands in its arrays."""
    wanted: dict[str, set[str]] = {}
    found = 0
    for data in rows:
        for name, related in target.collection.targets.items():
            if ids := [value for _, value in _named(data, name)]:
                wanted.setdefault(related, set()).update(ids)
                found += len(ids)
        if found > TURN:
            found = 0
            await asyncio.sleep(0)
    return wanted


def _pieces(wanted: Mapping[str, set[str]]) -> Iterator[dict[str, set[str]]]:
    """`wanted` in parts of at most PROBE_LIMIT ids of each collection: most writes have one part."""
    if all(len(ids) <= PROBE_LIMIT for ids in wanted.values()):
        yield from [dict(wanted)] if wanted else []
        return
    listed = {name: list(ids) for name, ids in wanted.items()}
    for start in range(0, max(map(len, listed.values())), PROBE_LIMIT):
        parts = {name: set(ids[start : start + PROBE_LIMIT]) for name, ids in listed.items()}
        yield {name: ids for name, ids in parts.items() if ids}


async def _find_missing(reader: Reader, wanted: Mapping[str, set[str]]) -> set[Reference]:
    """Those (collection, id) of {collection: ids} that name no record which the caller may read.

    A reference to the caller's own record is never missing. Collections that the caller reads as a whole are asked for in
    one command together.
    """
    every, missing = dict[str, set[str]](), set[Reference]()
    for collection, ids in wanted.items():
        others = ids - {reader.permissions.user_id()} if collection == USERS else ids
        if not others:
            continue
        name = _shown(collection)
        permissions = await reader.engine.access.find_permissions(reader.caller, name, since=reader.since)
        if permissions is not None and permissions.read is True:
            every[collection] = others
        else:
            found = await _find_readable(reader, collection, others, permissions)
            missing |= {(collection, each) for each in others - found}
    return missing | await find_missing(reader.database, every)


async def _find_readable(reader: Reader, collection: str, ids: set[str], permissions: Permissions | None) -> set[str]:
    """Those of `ids` that the caller may read; by newer sets, if there are, where that is not all of them."""
    if permissions is None:
        return set()
    found = await readable_ids(reader.database, collection, permissions.read, ids)
    if found < ids:
        access, name = reader.engine.access, _shown(collection)
        newer = await access.renew(reader.caller, name, permissions, since=reader.began)
        if newer is not None:
            found = await readable_ids(reader.database, collection, newer.read, ids)
    return found


def list_dangling(target: TargetCollection, data: Data, gone: set[Reference], loc: Location) -> list[Violation]:
    """One violation for each field: of an array, its first item that names no record."""
    firsts = (
        (related, next((place for place, value in _named(data, name) if (related, value) in gone), None))
        for name, related in target.collection.targets.items()
    )
    return [
        Violation((*loc, *place), f"There is no record with this id in {_shown(related)}", "reference_not_found")
        for related, place in firsts
        if place is not None
    ]


def _named(data: Data, name: str) -> list[tuple[Location, str]]:
    """The ids that a reference, or an array of them, holds, each with its place. An array past its bound is refused later."""
    value = data.get(name)
    if isinstance(value, str):
        return [((name,), value)]
    if not isinstance(value, list) or len(value) > MAX_REFERENCES:
        return []
    return [((name, number), each) for number, each in enumerate(value) if isinstance(each, str)]


def _shown(target: str) -> str:
    return target.removeprefix(mongo_collection_name(""))
