"""A project in full use, and backups of it in memory."""

import io
import zipfile
from typing import Any

import bson

from faults.samples import FORM_TYPE, account, data_part, file_part, form
from service.domain.portable import Portable, build_portable
from service.domain.portable.archive import Sink
from service.domain.portable.packing import unpack
from service.domain.portable.reading import BackupFile
from service.domain.portable.taking import Taken, Wanted, take_backup
from service.services import Services
from tests.conftest import Api
from tests.declared import declare

Json = dict[str, Any]
BOOKS = "/api/collections/books/documents"
SCHEMA: dict[str, Any] = {"title": {"type": "string", "unique": True}, "cover": {"type": "file"}}
RULES = {"collections": {"books": {"read": "anyone"}}}
TITLES = {"collection": "books", "aggregate": {"values": {"n": "count"}}}


async def use_fully(api: Api) -> None:
    """Makes at least one record in every part."""
    await declare(api, SCHEMA, "books")
    await declare(api, {"a": {"type": "string"}}, "dropped")
    await api.request("DELETE", "/api/collections/dropped")
    signup = form(account(), file_part("photo"))
    answers = [
        await api.request("POST", "/auth-collections/signup", content=signup, headers=FORM_TYPE),
        await api.request("PUT", "/api/rules", json=RULES),
        await api.request("PUT", "/auth-collections/schema", json={"schema": {"plan": {"type": "string"}}}),
        await api.request("PUT", "/api/aggregations/titles", json=TITLES),
        await api.request("POST", BOOKS, json={"data": {"title": "One"}}, headers={"idempotency-key": "k"}),
        await add_book(api, "Two"),
    ]
    assert {answer.status_code for answer in answers} <= {200, 201}, [answer.text for answer in answers]


async def add_book(api: Api, title: str) -> Any:
    """A document with a file."""
    content = form(data_part({"title": title}), file_part("cover"))
    return await api.request("POST", BOOKS, content=content, headers=FORM_TYPE)


def portable_of(services: Services) -> Portable:
    return build_portable(services.base)


async def take(portable: Portable, project_id: str, *without: str, attempts: int = 3) -> tuple[bytes, Taken]:
    """The bytes of a backup."""
    sinks: list[io.BytesIO] = []

    def begin() -> Sink:
        sinks.append(io.BytesIO())
        return sinks[-1]

    taken = await take_backup(portable, Wanted(project_id, frozenset(without), attempts), begin)
    return sinks[-1].getvalue(), taken


def opened(content: bytes) -> BackupFile:
    return BackupFile(io.BytesIO(content))


def documents_of(content: bytes, collection: str) -> list[dict[str, Any]]:
    """The documents of a member, read by no code of the service but gunzip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(f"p/{collection}.bson.gz") as entry:
        return bson.decode_all(b"".join(unpack(entry)))


def records(api: Api) -> dict[str, list[Json]]:
    """All records of the project that a backup has and a restore brings, by collection."""
    names = set(api.database.list_collection_names()) - {
        "sessions",
        "kept_answers",
        "uploads",
        "migrations",
        "c_dropped",
    }
    return {name: list(api.database[name].find().sort("_id", 1)) for name in names}


def forms(api: Api) -> dict[str, tuple[Any, set[str]]]:
    """The options and indexes of each collection; `collMod` notes MongoDB's defaults, and `create` does not."""
    defaults = {"validationLevel", "validationAction"}
    return {
        each["name"]: (
            {name: value for name, value in each["options"].items() if name not in defaults},
            set(api.database[each["name"]].index_information()),
        )
        for each in api.database.list_collections()
        if each["name"] not in {"uploads", "sessions", "c_dropped"}
    }
