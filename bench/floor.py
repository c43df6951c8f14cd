"""The bare floor: what the best MongoDB command for each operation costs in an ASGI function that does nothing else.

It knows nothing of the service but how it runs uvicorn: no routes, no credentials, no validation, no log, no limits, no
headers beyond the two that HTTP needs. It sends plain commands: reads cost the driver less than its cursors do, and for
writes MongoDB writes nothing down by which they could be repeated.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import typer
import uvicorn
from bson import ObjectId
from pymongo import AsyncMongoClient
from starlette.types import Receive, Scope, Send

from service.server.run import UVICORN_OPTIONS

Database = Any
Operation = Callable[[Database, bytes], Awaitable[object]]

STANDING = {"token_version": 1}
LISTED = {"email": 1, "data": 1, "created_at": 1}
RELATED = ("_id", "email", "data")
ORDER = {"created_at": 1, "_id": 1}
# Two thirds of the generated users are as old.
OLDER = 42
PAGE = {"find": "users", "sort": ORDER, "limit": 20, "projection": LISTED}
OLDER_PAGE = {**PAGE, "filter": {"data.age": {"$gte": OLDER}}}
POPULATED_PAGE = {
    "aggregate": "users",
    "pipeline": [
        {"$sort": ORDER},
        {"$limit": 20},
        {"$project": LISTED},
        {"$group": {"_id": None, "rows": {"$push": "$$ROOT"}}},
        {"$lookup": {"from": "users", "localField": "rows.data.referred_by_id", "foreignField": "_id", "as": "found"}},
        {"$project": {"rows": 1, **{f"found.{name}": 1 for name in RELATED}}},
    ],
    "cursor": {},
}


async def _read(database: Database, command: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await database.command(command))["cursor"]["firstBatch"]
    return found


async def _profile(database: Database, _body: bytes) -> object:
    known = {"_id": os.environ["FLOOR_USER"]}
    return await _read(database, {"find": "users", "filter": known, "limit": 1, "singleBatch": True})


async def _list(database: Database, _body: bytes) -> object:
    return await _read(database, dict(PAGE))


async def _populate(database: Database, _body: bytes) -> object:
    (page,) = await _read(database, dict(POPULATED_PAGE))
    found = {row["_id"]: row for row in page["found"]}
    for row in page["rows"]:
        if "referred_by_id" in row["data"]:
            row["data"]["referred_by"] = found.get(row["data"]["referred_by_id"])
    return page["rows"]


async def _total(database: Database, _body: bytes) -> object:
    rows = await _read(database, dict(OLDER_PAGE))
    return [rows, (await database.command({"count": "users", "query": OLDER_PAGE["filter"]}))["n"]]


async def _create(database: Database, body: bytes) -> object:
    moment = datetime.now(UTC)
    document = {"_id": str(ObjectId()), "data": orjson.loads(body)["data"], "created_at": moment, "updated_at": moment}
    command = {"insert": "floor_documents", "documents": [document], "writeConcern": {"w": "majority"}}
    await database.command(command)
    return document


async def _get(database: Database, _body: bytes) -> object:
    known = {"_id": "known0"}
    return await _read(database, {"find": "floor_documents", "filter": known, "limit": 1, "singleBatch": True})


async def _list_documents(database: Database, _body: bytes) -> object:
    return await _read(database, {"find": "floor_documents", "sort": ORDER, "limit": 20})


async def _change(database: Database, body: bytes) -> object:
    sent = orjson.loads(body)
    changes = {f"data.{name}": value for name, value in sent["data"].items()} | {"updated_at": datetime.now(UTC)}
    command = {
        "findAndModify": "floor_documents",
        "query": {"_id": sent["id"]},
        "update": {"$set": changes},
        "new": True,
    }
    return (await database.command({**command, "writeConcern": {"w": "majority"}}))["value"]


async def _refresh(database: Database, body: bytes) -> object:
    """The least that a refresh asks of MongoDB: a small change of one record, and one other record."""
    known = {"_id": os.environ["FLOOR_USER"]}
    user, changed = await asyncio.gather(
        _read(database, {"find": "users", "filter": known, "projection": STANDING, "limit": 1, "singleBatch": True}),
        database.command(
            {
                "update": "floor_sessions",
                "updates": [{"q": {"_id": orjson.loads(body)["id"]}, "u": {"$inc": {"count": 1}}}],
                "writeConcern": {"w": "majority"},
            }
        ),
    )
    return [user, changed["nModified"]]


async def _ready(_database: Database, _body: bytes) -> object:
    return {}


OPERATIONS: dict[str, Operation] = {
    "/profile": _profile,
    "/list": _list,
    "/populate": _populate,
    "/total": _total,
    "/create": _create,
    "/get": _get,
    "/documents": _list_documents,
    "/change": _change,
    "/refresh": _refresh,
    "/health/ready": _ready,
}


class Floor:
    """One MongoDB operation for each path, its result as JSON."""

    def __init__(self) -> None:
        self._database: Database = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"] if scope["method"] != "GET" else b""
        answer = orjson.dumps(await OPERATIONS[scope["path"]](self._connected(), body), str)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _connected(self) -> Database:
        """The client belongs to the event loop that uses it first, so it is made on that loop."""
        if self._database is None:
            client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(os.environ["FLOOR_URI"])
            self._database = client[os.environ["FLOOR_DATABASE"]]
        return self._database


def main(port: int = 8000) -> None:
    """Serve the floor with the service's own settings of uvicorn, but on uvicorn's own connections without deadlines."""
    uvicorn.run(
        Floor(), host="127.0.0.1", port=port, lifespan="off", http="httptools", timeout_keep_alive=75, **UVICORN_OPTIONS
    )


if __name__ == "__main__":
    typer.run(main)
