"""Workers killed again and again under creates with an Idempotency-Key, each sent until it is answered, and then once more.

`python -m faults idempotency [--kills 1000] [--seed 5]`. A number that is stored twice was written twice; a document without
its kept answer, or an answer without its document, is half of a write. Fails unless there is none.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from uuid import uuid4

import httpx2
import typer

from faults.aborts import give_up_soon
from faults.server import Server, serving
from service.embedded.mongod import embedded_mongodb

SENDERS = 6
WORKERS = 2
DOCUMENTS = "/api/collections/things/documents"
LONGEST_PAUSE = 0.4
FAULTS = ("written twice", "lost", "halves", "other answers")


def main(
    kills: Annotated[int, typer.Option(help="How often a worker is killed.", min=1)] = 1_000,
    seed: Annotated[int, typer.Option(help="What the random moments are drawn from.")] = 5,
) -> None:
    """Kill workers under idempotent creates, and look for what was written twice or by half."""
    report = kill_workers(kills, seed=seed)
    typer.echo("\n".join(f"{name}: {count}" for name, count in report.items()))
    if any(report[name] for name in FAULTS):
        raise typer.Exit(1)


@dataclass
class Run:
    """What the senders share: the id that each number was answered with, and what else became of requests."""

    server: Server
    is_over: bool = False
    ids: dict[int, str] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, outcome: str) -> None:
        with self.lock:
            self.outcomes[outcome] += 1

    def send_until_over(self, first: int) -> None:
        number = first
        with httpx2.Client(base_url=self.server.url, timeout=20) as client:
            while not self.is_over:
                self._create(client, number)
                number += SENDERS

    def _create(self, client: httpx2.Client, number: int) -> None:
        """One create, sent until it is answered, and once more."""
        key = str(uuid4())
        for _ in range(2):
            id_ = self._send(client, number, key)
            if self.ids.setdefault(number, id_) != id_:
                self.count("other answers")

    def _send(self, client: httpx2.Client, number: int, key: str) -> str:
        headers = {"x-api-key": self.server.key, "idempotency-key": key}
        while True:
            try:
                answer = client.post(DOCUMENTS, json={"data": {"number": number}}, headers=headers)
            except httpx2.TransportError:
                self.count("without an answer")
                time.sleep(0.05)
                continue
            self.count(f"answers {answer.status_code}{' replayed' * ('idempotency-replayed' in answer.headers)}")
            if answer.status_code == 201:
                return str(answer.json()["id"])
            time.sleep(0.1)


def kill_workers(kills: int, *, seed: int) -> dict[str, int]:
    """What clients were told, and what is stored, with two workers on a MongoDB of their own."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        give_up_soon(uri)
        return kill_workers_on(uri, kills, seed=seed)


def kill_workers_on(uri: str, kills: int, *, seed: int) -> dict[str, int]:
    """The same on a MongoDB that is there, which gives transactions of killed workers up soon."""
    with serving(uri, "f_idempotency_", workers=WORKERS) as server:
        schema = {"number": {"type": "integer"}}
        server.request("POST", "/api/collections", json={"name": "things", "schema": schema}).raise_for_status()
        run = Run(server)
        senders = [threading.Thread(target=run.send_until_over, args=(number,)) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        kill_at_random(run, kills, random.Random(seed))  # noqa: S311 - a fixed seed repeats the draws
        run.is_over = True
        for sender in senders:
            sender.join()
        return {**run.outcomes, **_compare(run)}


def kill_at_random(run: Run, kills: int, chance: random.Random) -> None:
    while run.outcomes["kills"] < kills:
        time.sleep(chance.uniform(0.0, LONGEST_PAUSE))
        if len(workers := run.server.workers()) == WORKERS:
            os.kill(chance.choice(workers), signal.SIGKILL)
            run.count("kills")


def _compare(run: Run) -> dict[str, int]:
    database = run.server.database
    stored: dict[str, Any] = {each["_id"]: each["data"]["number"] for each in database["c_things"].find()}
    times = Counter(stored.values())
    return {
        "creates": len(run.ids),
        "written twice": sum(count > 1 for count in times.values()),
        "lost": sum(stored.get(id_) != number for number, id_ in run.ids.items()),
        "halves": abs(len(stored) - database["kept_answers"].count_documents({})),
        "other answers": run.outcomes["other answers"],
    }
