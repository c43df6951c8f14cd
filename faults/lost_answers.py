"""Writes of the Python client whose answers are lost: each must be written once.

`python -m faults lost_answers [--count 1000]`. The first answer to each `Idempotency-Key` is dropped after the service has
given it. Fails if a write is missing, or is there twice.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx2
import typer

from auth_collections_client import Client, memory
from faults.commands import NO_TLS
from faults.server import serving
from service.embedded.mongod import embedded_mongodb

SENDERS = 8
WORKERS = 2
SCHEMA = {"number": {"type": "integer", "default": 0}}


class LossyTransport(httpx2.HTTPTransport):
    """Drops the answer to the first request of each `Idempotency-Key`. `requests` counts those with a key."""

    def __init__(self) -> None:
        super().__init__(verify=NO_TLS)
        self.requests = 0
        self._keys: set[str] = set()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        key = request.headers.get("idempotency-key")
        if key is None:
            return response
        self.requests += 1
        if key in self._keys:
            return response
        self._keys.add(key)
        response.read()
        response.close()
        raise httpx2.ReadError("lost", request=request)

    @property
    def lost(self) -> int:
        return len(self._keys)


def main(count: Annotated[int, typer.Option(help="How many answers are lost.", min=4)] = 1_000) -> None:
    """Lose the answers of creates, increments, signups and batches, and count what is stored."""
    with (
        TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as uri,
        serving(uri, "f_lost_", workers=WORKERS) as server,
        LossyTransport() as wire,
        httpx2.Client(transport=wire) as http,
        Client(server.url, server.key, http=http) as client,
        Client(server.url, server.key, http=http, session=memory()) as people,
    ):
        report = lose_answers(client, people, count // 4) | {
            "answers lost": wire.lost,
            "requests with a key": wire.requests,
        }
    typer.echo("\n".join(f"{name}: {found}" for name, found in report.items()))
    kinds = ("creates", "increments", "signups", "batches")
    if any(report[kind] != count // 4 for kind in kinds) or wire.lost != 4 * (count // 4):
        raise typer.Exit(1)


def lose_answers(client: Client, people: Client, count: int) -> dict[str, int]:
    """Makes so many writes of each kind, and returns how many of each are stored."""
    client.admin.collections.create({"name": "things", "schema": SCHEMA})
    things = client.collection("things")
    counter = things.create({"number": 0}, idempotent=False)

    def write(number: int) -> None:
        things.create({"number": 1})
        things.update(counter.id, increment={"number": 1})
        people.auth.signup(f"user-{number}@example.com", "correct horse")
        with client.batch() as batch:
            batch.collection("things").create({"number": 2})

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(write, range(count)))
    return {
        "creates": things.count(where={"number_eq": 1, "id_ne": counter.id}),
        "increments": things.get(counter.id).data["number"],
        "signups": client.users.count(),
        "batches": things.count(where={"number_eq": 2, "id_ne": counter.id}),
    }
