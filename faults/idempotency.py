"""Workers killed again and again under creates with an Idempotency-Key, each sent until it is answered, and then once more.

`python -m faults idempotency [--kills 1000] [--seed 5]`. A number that is stored twice was written twice; a document without
its kept answer, or an answer without its document, is half of a write. Looks after each 10 kills, fails unless there is none.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from uuid import uuid4

import httpx2
import typer

from faults.aborts import give_up_soon
from faults.commands import NO_TLS
from faults.server import Server, serving
from faults.waiting import wait_until
from service.embedded.mongod import embedded_mongodb

SENDERS = 6
WORKERS = 2
DOCUMENTS = "/api/collections/things/documents"
LONGEST_PAUSE = 0.4
ROUND = 10
# A worker that is to begin, or work that is to be done, takes long on a busy machine; more than that is a fault.
STUCK_SECONDS = 180.0
FAULTS = ("written twice", "lost", "halves", "other answers")


def main(
    kills: Annotated[int, typer.Option(help="How often a worker is killed.", min=1)] = 1_000,
    seed: Annotated[int, typer.Option(help="What the random moments are drawn from.")] = 5,
) -> None:
    """Kill workers under idempotent creates, and look for what was written twice or by half."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        give_up_soon(uri)
        tell(kill_workers_on(uri, kills, seed=seed, tell_round=typer.echo))


def tell(report: dict[str, int]) -> None:
    """All of it; ends the command with status 1 where there are faults."""
    typer.echo("\n".join(f"{name}: {count}" for name, count in report.items()))
    if any(report[name] for name in FAULTS):
        raise typer.Exit(1)


@dataclass
class Run:
    """State the senders share: the id in the answer to each number, and the other outcomes of requests.

    `numbers` are the next of each sender.
    """

    server: Server
    is_over: bool = False
    numbers: list[int] = field(default_factory=lambda: [*range(SENDERS)])
    ids: dict[int, str] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, outcome: str) -> None:
        with self.lock:
            self.outcomes[outcome] += 1

    def kill_workers(self, kills: int, chance: random.Random) -> None:
        """Kills so many while the senders create; returns when each of these has ended what it had begun."""
        self.is_over = False
        senders = [
            threading.Thread(target=self._send_until_over, args=(sender,), daemon=True) for sender in range(SENDERS)
        ]
        for each in senders:
            each.start()
        try:
            for _ in range(kills):
                self.await_work()
                self._kill_one(chance)
        finally:
            self.is_over = True
            for each in senders:
                each.join(STUCK_SECONDS)
        if any(each.is_alive() for each in senders):
            raise TimeoutError(f"not answered within {STUCK_SECONDS} s: {self.outcomes}")

    def await_work(self) -> None:
        """Returns when there is something to kill."""

    def _kill_one(self, chance: random.Random) -> None:
        """One of the workers at a random moment, when the last that was killed has a successor."""
        time.sleep(chance.uniform(0.0, LONGEST_PAUSE))
        wait_until(lambda: len(self.server.workers()) == WORKERS, STUCK_SECONDS)
        os.kill(chance.choice(self.server.workers()), signal.SIGKILL)
        self.count("kills")

    def _send_until_over(self, sender: int) -> None:
        with httpx2.Client(base_url=self.server.url, timeout=20, verify=NO_TLS) as client:
            while not self.is_over:
                self._create(client, self.numbers[sender])
                self.numbers[sender] += SENDERS

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

    def compare(self) -> dict[str, int]:
        """Counts the stored records and the faults in them."""
        database = self.server.database
        stored: dict[str, Any] = {each["_id"]: each["data"]["number"] for each in database["c_things"].find()}
        times = Counter(stored.values())
        return {
            "creates": len(self.ids),
            "written twice": sum(count > 1 for count in times.values()),
            "lost": sum(stored.get(id_) != number for number, id_ in self.ids.items()),
            "halves": abs(len(stored) - database["kept_answers"].count_documents({})),
            "other answers": self.outcomes["other answers"],
        }


def kill_workers_on(
    uri: str, kills: int, *, seed: int, tell_round: Callable[[str], None] | None = None
) -> dict[str, int]:
    """Compares acknowledged answers with stored records, on a MongoDB that soon aborts transactions of killed workers."""
    with serving(uri, "f_idempotency_", workers=WORKERS) as server:
        schema = {"number": {"type": "integer"}}
        server.request("POST", "/api/collections", json={"name": "things", "schema": schema}).raise_for_status()
        return kill_in_rounds(Run(server), kills, seed, tell_round)


def kill_in_rounds(run: Run, kills: int, seed: int, tell_round: Callable[[str], None] | None) -> dict[str, int]:
    """Kills workers in rounds; after each, with no request under way, compares and reports the stored records."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed repeats the draws
    found: dict[str, int] = {}
    while (left := kills - run.outcomes["kills"]) > 0:
        started = time.monotonic()
        run.kill_workers(min(left, ROUND), chance)
        found = run.compare()
        if tell_round:
            shown = ", ".join(f"{name} {count}" for name, count in found.items())
            tell_round(f"{run.outcomes['kills']} of {kills} kills, {time.monotonic() - started:.0f} s: {shown}")
    return {**run.outcomes, **found}
