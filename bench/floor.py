"""The bare floor: what the same MongoDB operations cost in ASGI functions that do nothing else. Knows nothing of the service
but how it runs uvicorn: no routes, no credentials, no validation, no log, no headers beyond the two that HTTP needs."""

import os
from collections.abc import Awaitable, Callable
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

USER = {"email": 1, "data": 1, "created_at": 1, "updated_at": 1}
LISTED = {"email": 1, "data": 1, "created_at": 1}


async def _profile(database: Database, _body: bytes) -> object:
    return await database.users.find_one({"_id": os.environ["FLOOR_USER"]}, USER)


async def _list(database: Database, _body: bytes) -> object:
    return await database.users.find({}, LISTED).sort({"created_at": 1, "_id": 1}).limit(20).to_list()


async def _create(database: Database, body: bytes) -> object:
    document = {"_id": str(ObjectId()), "data": orjson.loads(body)["data"]}
    await database.floor_documents.insert_one(document)
    return document


async def _get(database: Database, _body: bytes) -> object:
    return await database.floor_documents.find_one({"_id": "known"})


async def _ready(_database: Database, _body: bytes) -> object:
    return {}


OPERATIONS: dict[str, Operation] = {
    "/profile": _profile,
    "/list": _list,
    "/create": _create,
    "/get": _get,
    "/health/ready": _ready,
}


class Floor:
    """One MongoDB operation for each path, its result as JSON."""

    def __init__(self) -> None:
        self._database: Database = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"] if scope["method"] == "POST" else b""
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
