"""Pairs of bounds that one request or one event multiplies, each driven to both ends at once, over HTTP and over sockets.

`prepare` makes the collections and rules that they need; each `Product` runs rounds against them as the project's user.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bcrypt
from pymongo import MongoClient
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from faults.quantity.site import JSON, PREFIX, Site, Tenant, ask
from faults.quantity.trees import searches
from faults.quantity.values import encode
from faults.wire import Broken, Connection, Refused
from service import bounds

Run = Callable[[int, Tenant], Awaitable[int]]
Body = dict[str, Any]

# Fewer values than the bound of a body, so that the request's own reading is not what is measured.
VALUES = 45_000
# Fewer values than the bound of a body, so that the request's own reading is not measured.
SOCKET_SECONDS = 30.0
SOCKET_ERRORS = (OSError, WebSocketException, TimeoutError)
SCANNED = 20_000
# Almost as large as a document may become.
SEARCHED_BYTES = 2_000_000
AT_ONCE = 8
SET_USERS = 60
PASSWORD = "correct horse"
ANY = {"type": "any"}
COLLECTIONS: dict[str, Body] = {
    "p-live": {"schema": {"tags": ANY, "text": {"type": "string"}, "blob": ANY}, "realtime": True},
    "p-wide": {"schema": {f"f{number}": ANY for number in range(10)}, "realtime": True},
    "p-sources": {"schema": {"kind": {"type": "string"}, "blob": {"type": "string"}}},
    "p-docs": {"schema": {"blob": {"type": "string"}}},
    "p-members": {"schema": {"list": ANY, "room": {"type": "string"}}},
    "p-messages": {"schema": {"room": {"type": "string"}}, "realtime": True},
    "p-scanned": {"schema": {"text": {"type": "string"}}, "realtime": True},
    "p-searched": {"schema": {"text": {"type": "string"}, "n": {"type": "integer"}}},
    "p-large": {"schema": {"blob": {"type": "string"}, "n": {"type": "integer"}}, "realtime": True},
}
OPEN = {"read": "users", "create": "users", "update": "users"}
# One condition a leaf, and 100 of them in all field rules together.
FIELD_RULES = {
    f"f{number}": {"read": {"or": [*({f"f{number}_eq": -1 - n} for n in range(9)), {"f0_gte": 0}]}}
    for number in range(10)
}
RULES: Body = {
    "sets": {
        "big": {"from": "p-sources", "where": {"kind_eq": "a"}, "take": "blob"},
        "own": {"from": "p-members", "where": {"list_eq": "$user.id"}, "take": "room"},
    },
    "users": {"read": {"id_eq": "$user.id"}},
    "collections": {
        "p-wide": {**OPEN, "fields": FIELD_RULES},
        "p-docs": {"read": {"blob_in": "$sets.big"}},
        "p-messages": {"read": {"room_in": "$sets.own"}},
        **dict.fromkeys(("p-live", "p-members", "p-scanned", "p-searched", "p-large"), OPEN),
    },
}


@dataclass(frozen=True, slots=True)
class Product:
    """`bounds` names the two or three that are multiplied; `run` is one round, and returns an HTTP status or 0."""

    name: str
    bounds: tuple[str, ...]
    run: Run
    status: tuple[int, ...] = (200, 201)


def prepare(uri: str, site: Site) -> None:
    """Collections, documents, rules and users of the hostile project."""
    tenant, port = site.hostile, site.service.port
    for name, declared in COLLECTIONS.items():
        _insist(port, tenant, "POST", "/api/collections", {"name": name, **declared})
    with MongoClient[Body](uri) as client:
        _fill(client, tenant)
    _insist(port, tenant, "PUT", "/api/rules", RULES)


def _insist(port: int, tenant: Tenant, method: str, path: str, body: Body) -> Any:
    answer = ask(port, method, path, headers=tenant.key | JSON, body=encode(body))
    if answer.status not in (200, 201):
        raise RuntimeError(f"{method} {path}: {answer.status} {answer.body[:500]!r}")
    return answer.json()


def _fill(client: MongoClient[Body], tenant: Tenant) -> None:
    """Documents and users past the service."""
    database = client[f"{PREFIX}p_{tenant.project}"]
    user = database["users"].find_one({"_id": tenant.user}) or {}
    times = {"created_at": user["created_at"], "updated_at": user["updated_at"], "version": 1}

    def fill(name: str, count: int, make: Callable[[int], Body]) -> None:
        rows = ({"_id": f"{number:024x}", "data": make(number), **times} for number in range(count))
        database[f"c_{name}"].insert_many(rows)

    fill("p-wide", 1_000, lambda number: {"f0": list(range(200)), **{f"f{n}": number for n in range(1, 10)}})
    fill("p-sources", 1_000, lambda _: {"kind": "a", "blob": secrets.token_hex(6_000)})
    fill("p-scanned", SCANNED, lambda _: {"text": secrets.token_hex(275)})
    fill("p-searched", 1, lambda _: {"n": 0, "text": "a" * SEARCHED_BYTES})
    fill("p-large", 30, lambda number: {"n": number, "blob": "x" * 200_000})
    # The least cost, so that many tokens are there soon.
    password = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    database["users"].insert_many(
        {**user, "_id": f"f{number:023x}", "email": _member(number), "password": password}
        for number in range(SET_USERS)
    )


def _member(number: int) -> str:
    return f"member{number}@example.com"


async def _ask(port: int, tenant: Tenant, method: str, path: str, body: Any = None, **headers: str) -> int:
    """One request as the user, on a connection of its own; 0 where it broke."""
    connection = Connection(port)
    try:
        raw = encode(body) if body is not None else b""
        status, _ = await connection.request(method, path, headers=tenant.token | JSON | headers, body=raw)
    except (Broken, Refused):
        return 0
    finally:
        connection.close()
    return status


async def _open(port: int, tenant: Tenant) -> ClientConnection:
    socket = await connect(f"ws://127.0.0.1:{port}/realtime", compression=None, max_size=None, close_timeout=1)
    token = tenant.token["authorization"].removeprefix("Bearer ")
    await socket.send(json.dumps({"type": "hello", "token": token}))
    return socket


async def _subscribe(socket: ClientConnection, count: int, make: Callable[[int], Body]) -> None:
    """Sends as many subscriptions as a socket may have, no faster than it may, and reads what comes until all are answered."""
    for number in range(count):
        await socket.send(json.dumps({"type": "subscribe", "id": str(number), **make(number)}))
    answered = 0
    while answered < count:
        async with asyncio.timeout(SOCKET_SECONDS):
            frame = json.loads(await socket.recv())
        answered += frame["type"] in {"snapshot", "closed"}


def _differing(number: int, operator: str = "eq") -> Body:
    """Conditions of which none holds, different for each number."""
    leaves = [{f"tags_{operator}": f"x{number}-{n}"} for n in range(bounds.MAX_CONDITIONS - 2)]
    return {"collection": "p-live", "limit": 1, "where": {"or": leaves}}


async def subscriptions_by_values(port: int, tenant: Tenant) -> int:
    """Subscriptions by conditions by values of one written document."""
    return await _written_beside(port, tenant, _differing, {"tags": [1] * VALUES})


async def subscriptions_by_paths(port: int, tenant: Tenant) -> int:
    """Subscriptions by different paths through one array."""

    def make(number: int) -> Body:
        leaves = [{f"blob.x{number}n{n}_eq": 1} for n in range(bounds.MAX_CONDITIONS - 2)]
        return {"collection": "p-live", "limit": 1, "where": {"or": leaves}}

    return await _written_beside(port, tenant, make, {"blob": [{"a": 1}] * (VALUES // 2)})


async def subscriptions_by_text(port: int, tenant: Tenant) -> int:
    """Subscriptions by searches through one long text."""

    def make(number: int) -> Body:
        leaves = [{"text_contains": f"y{number}-{n}"} for n in range(bounds.MAX_CONDITIONS - 2)]
        return {"collection": "p-live", "limit": 1, "where": {"or": leaves}}

    return await _written_beside(port, tenant, make, {"text": "x" * 900_000})


async def _written_beside(port: int, tenant: Tenant, make: Callable[[int], Body], data: Body) -> int:
    with suppress(*SOCKET_ERRORS):
        async with await _open(port, tenant) as socket:
            await _subscribe(socket, bounds.MAX_SUBSCRIPTIONS, make)
            return await _ask(port, tenant, "POST", "/api/collections/p-live/documents", {"data": data})
    return 0


async def field_rules_by_records(port: int, tenant: Tenant) -> int:
    """Conditions of field rules by records of a list."""
    return await _ask(port, tenant, "GET", "/api/collections/p-wide/documents?limit=1000&count=false")


async def field_rules_by_snapshot(port: int, tenant: Tenant) -> int:
    """Conditions of field rules by records of a snapshot."""
    with suppress(*SOCKET_ERRORS):
        async with await _open(port, tenant) as socket:
            await _subscribe(socket, 1, lambda _: {"collection": "p-wide", "limit": 1_000})
            return 200
    return 0


async def set_values_by_users(port: int, tenant: Tenant) -> int:
    """Values of a set by users that ask once each."""
    status = 200
    for number in range(SET_USERS):
        answer = await asyncio.to_thread(
            ask,
            port,
            "POST",
            "/auth-collections/login",
            headers=tenant.key | JSON,
            body=encode({"email": _member(number), "password": PASSWORD}),
        )
        token = {"authorization": f"Bearer {answer.json().get('access_token')}"}
        member = Tenant(tenant.project, tenant.key, token, "")
        status = await _ask(port, member, "GET", "/api/collections/p-docs/documents?limit=1")
    return status


async def guards_by_values(port: int, tenant: Tenant) -> int:
    """Conditions of guards by values of one's own record by operations of a batch."""
    tags = list(range(VALUES))
    if (status := await _ask(port, tenant, "PUT", "/auth-collections/user", {"tags": tags})) != 200:
        return status
    where = {"or": [{"tags_eq": -1 - n} for n in range(bounds.MAX_CONDITIONS - 1)]}
    change = {"op": "update", "collection": "users", "id": tenant.user, "data": {"x": 1}, "where": where}
    operations = {"atomic": False, "operations": [change] * bounds.MAX_BATCH}
    return await _ask(port, tenant, "POST", "/api/batch", operations)


async def guards_by_searches(port: int, tenant: Tenant) -> int:
    """Characters that guards search for by bytes of the text that they look at by requests at once."""
    where = {"or": searches("text", bounds.MAX_SEARCH_CHARACTERS // bounds.MAX_CONTAINS)}
    change = {"increment": {"n": 1}, "where": where}
    path = f"/api/collections/p-searched/documents/{0:024x}"
    asked = (_ask(port, tenant, "PATCH", path, change) for _ in range(AT_ONCE))
    return max(await asyncio.gather(*asked))


async def snapshots_by_scans(port: int, tenant: Tenant) -> int:
    """Subscriptions by searches through a whole collection."""

    def make(number: int) -> Body:
        leaves = [{"text_contains": f"y{number}-{n}"} for n in range(bounds.MAX_CONDITIONS - 2)]
        return {"collection": "p-scanned", "limit": 1, "where": {"or": leaves}}

    with suppress(*SOCKET_ERRORS):
        async with await _open(port, tenant) as socket:
            await _subscribe(socket, bounds.MAX_SUBSCRIPTIONS, make)
            return 200
    return 0


async def refused_snapshots(port: int, tenant: Tenant) -> int:
    """Subscriptions by bytes of snapshots that are refused for their size."""
    with suppress(*SOCKET_ERRORS):
        async with await _open(port, tenant) as socket:
            await _subscribe(socket, bounds.MAX_SUBSCRIPTIONS, lambda _: {"collection": "p-large", "limit": 30})
            return 200
    return 0


async def unread_snapshots(port: int, tenant: Tenant) -> int:
    """Subscriptions by bytes of snapshots that the client does not read."""
    with suppress(*SOCKET_ERRORS):
        socket = await _open(port, tenant)
        try:
            socket.transport.pause_reading()
            for number in range(bounds.MAX_SUBSCRIPTIONS):
                query = {"collection": "p-large", "limit": 19}
                await socket.send(json.dumps({"type": "subscribe", "id": str(number), **query}))
            await asyncio.sleep(5)
        finally:
            socket.transport.abort()
        return 200
    return 0


async def resumes_by_images(port: int, tenant: Tenant) -> int:
    """Changes that were missed by bytes of their images, for a filter that finds none."""
    query = {"collection": "p-large", "where": {"n_eq": -1}, "limit": 1}
    with suppress(*SOCKET_ERRORS):
        async with await _open(port, tenant) as socket:
            await socket.send(json.dumps({"type": "subscribe", "id": "a", **query}))
            cursor = await _cursor(socket)
        path = "/api/collections/p-large/documents/"
        for number in range(300):
            await _ask(port, tenant, "PATCH", f"{path}{number % 30:024x}", {"increment": {"n": 1_000}})
        async with await _open(port, tenant) as socket:
            await socket.send(json.dumps({"type": "subscribe", "id": "a", **query, "after": cursor}))
            await _cursor(socket)
        return 200
    return 0


async def _cursor(socket: ClientConnection) -> str:
    async with asyncio.timeout(SOCKET_SECONDS):
        while True:
            frame = json.loads(await socket.recv())
            if frame["type"] in {"snapshot", "changes"}:
                return str(frame["cursor"])


async def subscriptions_by_bytes(port: int, tenant: Tenant) -> int:
    """Subscriptions by bytes of their conditions by sockets of a user."""
    values = [f"{n:058}" for n in range(480)]

    def make(number: int) -> Body:
        return {"collection": "p-live", "limit": 1, "where": {"text_in": [f"{number}{value}" for value in values]}}

    sockets: list[ClientConnection] = []
    with suppress(*SOCKET_ERRORS):
        try:
            for _ in range(bounds.MAX_USER_SOCKETS - 1):
                sockets.append(await _open(port, tenant))
                await _subscribe(sockets[-1], bounds.MAX_SUBSCRIPTIONS, make)
            return 200
        finally:
            await asyncio.gather(*(socket.close() for socket in sockets), return_exceptions=True)
    return 0


async def sources_by_subscriptions(port: int, tenant: Tenant) -> int:
    """Values of a record that a set is taken from by subscriptions whose rules use the set."""
    with suppress(*SOCKET_ERRORS):
        async with await _open(port, tenant) as socket:
            query = {"collection": "p-messages", "limit": 1}
            await _subscribe(socket, bounds.MAX_SUBSCRIPTIONS, lambda n: {**query, "where": {"room_ne": f"r{n}"}})
            body = {"data": {"list": list(range(VALUES)), "room": "r"}}
            return await _ask(port, tenant, "POST", "/api/collections/p-members/documents", body)
    return 0


async def kept_reads(port: int, tenant: Tenant) -> int:
    """Operations of a batch by bytes of the documents that it reads, under an idempotency key."""
    read = {"op": "get", "collection": "p-large", "id": f"{0:024x}"}
    operations = {"operations": [read] * (bounds.MAX_BATCH // 2)}
    headers = {"idempotency-key": secrets.token_hex(8)}
    return await _ask(port, tenant, "POST", "/api/batch", operations, **headers)


async def refused_schemas(port: int, tenant: Tenant) -> int:
    """Fields of a refused schema by defaults that do not fit."""
    fields = {f"f{number}": {"type": "integer", "default": "x"} for number in range(bounds.MAX_FIELDS)}
    body = {"name": "p-refused", "schema": fields}
    return await _ask(port, Tenant("", {}, tenant.key, ""), "POST", "/api/collections", body)


PRODUCTS: tuple[Product, ...] = (
    Product("subscriptions", ("MAX_SUBSCRIPTIONS", "MAX_CONDITIONS", "MAX_VALUES"), subscriptions_by_values),
    Product("paths", ("MAX_SUBSCRIPTIONS", "MAX_CONDITIONS", "MAX_VALUES"), subscriptions_by_paths),
    Product("texts", ("MAX_SUBSCRIPTIONS", "MAX_CONDITIONS", "MAX_LIVE_BYTES"), subscriptions_by_text),
    Product("field rules", ("MAX_RULE_CONDITIONS", "MAX_LIMIT"), field_rules_by_records),
    Product("live field rules", ("MAX_RULE_CONDITIONS", "MAX_SNAPSHOT_BYTES"), field_rules_by_snapshot),
    Product("sets", ("MAX_SET_VALUES", "MAX_SET_BYTES", "MAX_SETS"), set_values_by_users, (403,)),
    Product("guards", ("MAX_CONDITIONS", "MAX_VALUES", "MAX_BATCH"), guards_by_values),
    Product("searches", ("MAX_SEARCH_CHARACTERS", "MAX_DOCUMENT_BYTES"), guards_by_searches, (409, 503)),
    Product("snapshots", ("MAX_SUBSCRIPTIONS", "MAX_CONDITIONS"), snapshots_by_scans),
    Product("refused snapshots", ("MAX_SUBSCRIPTIONS", "MAX_SNAPSHOT_BYTES"), refused_snapshots),
    Product("unread snapshots", ("MAX_SUBSCRIPTIONS", "MAX_UNSENT_BYTES"), unread_snapshots),
    Product("resumes", ("MAX_MISSED", "MAX_LIVE_BYTES"), resumes_by_images),
    Product("conditions kept", ("MAX_SUBSCRIPTIONS", "MAX_MESSAGE_BYTES"), subscriptions_by_bytes),
    Product("sources", ("MAX_SUBSCRIPTIONS", "MAX_VALUES"), sources_by_subscriptions),
    Product("kept reads", ("MAX_BATCH", "MAX_KEPT_ANSWER_BYTES"), kept_reads),
    Product("refused schemas", ("MAX_FIELDS", "MAX_MADE_FILES"), refused_schemas, (422,)),
)
BY_NAME = {product.name: product for product in PRODUCTS}
