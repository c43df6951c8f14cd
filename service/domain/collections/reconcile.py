"""Brings MongoDB in line with a stored definition, of a collection or of the users' profiles.

It goes on from any step that an earlier attempt had reached.
"""

from dataclasses import dataclass

import structlog

from service.errors import DuplicateValue
from service.schema.collection_options import read_options
from service.schema.fields import USERS, Fields, build, files_of
from service.schema.indexes import indexes
from service.schema.json_schema import profile_validator, validator
from service.schema.patterns import unknown_patterns
from service.schema.profiles import build_profile
from service.schema.repairs import fill, has_defaults
from service.storage.client import Document, within
from service.storage.collections import OWN_INDEX_NAMES, CollectionStore
from service.storage.databases import ProjectDatabase
from service.storage.definitions import CHANGE_SECONDS, Definitions, is_live
from service.storage.files.of_documents import remove_files_of
from service.storage.layout import COLLECTIONS, PROFILE
from service.storage.wanted_images import wants_images

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Drift:
    """The missing parts of a collection, in words, and its top-level fields whose patterns RE2 does not know."""

    lacks: list[str]
    unknown_patterns: list[str]


async def reconcile(database: ProjectDatabase, record: Document) -> None:
    """Ends the change that `record` is leased for, unless the lease was lost.

    Every step can be repeated, so after a crash all of them are.

    The documents are repaired before the validator gives way to the new one, under which a client could no longer
    change a document that lacks what it requires.
    """
    with within(CHANGE_SECONDS):
        definitions, store = registry_of(database, record["_id"]), CollectionStore(database)
        # Only the stored definition shows if an interrupted commit took place.
        held = await definitions.held(record)
        if held is None:
            return
        if held["_id"] == USERS:
            await _conform_users(store, held)
            await definitions.finish(held)
        elif held["change"]["kind"] == "delete":
            await store.close(held["_id"])
            if files_of(build(held["schema"])):
                await remove_files_of(database, held["_id"])
            await definitions.remove(held)
        else:
            await _conform(store, held, images=await wants_images(database, held))
            await definitions.finish(held)


def registry_of(database: ProjectDatabase, name: str) -> Definitions:
    """The registry that has the definition of the collection `name`, or of the users."""
    return Definitions(database, PROFILE if name == USERS else COLLECTIONS)


async def _conform_users(store: CollectionStore, record: Document) -> None:
    """Fills in absent defaults and puts the validator in force, then fills in those of users made meanwhile.

    The validator during a change lets a default be absent, so that users who lack one can sign in.
    """
    fields, judge = _users_fields(record), users_validator(record)
    if has_defaults(fields):
        await store.repair(USERS, judge, fill(fields))
    await store.set_validator(USERS, judge)
    if has_defaults(fields):
        await store.repair(USERS, judge, fill(fields))


def _users_fields(record: Document) -> Fields:
    return build_profile(record["schema"], additional=record.get("additional", True))


def users_validator(record: Document) -> Document:
    return profile_validator(_users_fields(record), additional=record.get("additional", True))


async def _conform(store: CollectionStore, record: Document, *, images: bool | None) -> None:
    name, fields = record["_id"], build(record["schema"])
    judge = validator(fields, realtime=is_live(record))
    if record["change"]["kind"] == "change" and has_defaults(fields):
        await store.repair(name, judge, fill(fields))
    await store.set_validator(name, judge, images=images)
    asked = indexes(fields, read_options(record))
    try:
        await store.add_indexes(name, asked)
    except DuplicateValue as error:
        # A change builds its unique indexes before it commits, so an operator dropped this one past the service, and
        # wrote values twice. The next reader to complete the change would fail as well: every request of the project
        # would, for ever.
        log.exception("index_not_built", collection=name, fields=list(error.fields))
    await store.drop_other_indexes(name, asked, fields.keys())


async def find_drift(database: ProjectDatabase) -> dict[str, Drift]:
    """Maps each collection to the parts of its definition that MongoDB lacks, and `users` to those of the profiles'.

    Those under change are skipped.
    """
    store = CollectionStore(database)
    records = [record for record in await Definitions(database).list() if "change" not in record]
    found = {record["_id"]: await _find_drift(store, record) for record in records}
    users = await registry_of(database, USERS).find(USERS)
    if users is not None and "change" not in users:
        found[USERS] = await _find_users_drift(store, users)
    return {name: drift for name, drift in found.items() if drift.lacks}


async def _find_users_drift(store: CollectionStore, record: Document) -> Drift:
    judge, _ = await store.describe(USERS)
    return Drift([] if (judge or {}) == users_validator(record) else ["its validator"], [])


async def _find_drift(store: CollectionStore, record: Document) -> Drift:
    fields = build(record["schema"])
    judge, present = await store.describe(record["_id"])
    unknown = unknown_patterns(fields)
    wanted = [*OWN_INDEX_NAMES, *(index.name for index in indexes(fields, read_options(record)))]
    gone = [] if judge == validator(fields, realtime=is_live(record)) else ["its validator"]
    gone += [f'the index "{index}"' for index in wanted if index not in present]
    gone += [f'a pattern that RE2 knows in place of "{pattern}"' for _, pattern in unknown]
    return Drift(gone, list(dict.fromkeys(field for field, _ in unknown)))
