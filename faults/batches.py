"""Workers killed again and again under batches with an Idempotency-Key, each sent until it is answered, and then once more.

`python -m faults batches [--kills 1000] [--seed 7]`. A batch creates an order, two lines that name it, and counts it in the
sender's ledger. An order without its two lines, lines without their order, and a ledger that counts otherwise are halves.
"""

import random
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx2
import typer

from faults.aborts import give_up_soon
from faults.idempotency import SENDERS, WORKERS, Run, kill_at_random
from faults.server import serving
from service.embedded.mongod import embedded_mongodb

BATCH = "/api/batch"
NUMBER: dict[str, Any] = {"number": {"type": "integer"}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "orders": NUMBER,
    "lines": {"order_id": {"type": "reference", "collection": "orders"}},
    "ledgers": {"sender": {"type": "integer", "unique": True}, "orders": {"type": "integer"}},
}
LINES = 2
FAULTS = ("written twice", "lost", "halves", "other answers")


def main(
    kills: Annotated[int, typer.Option(help="How often a worker is killed.", min=1)] = 1_000,
    seed: Annotated[int, typer.Option(help="What the random moments are drawn from.")] = 7,
) -> None:
    """Kill workers under batches, and look for what was written twice or by half."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        give_up_soon(uri)
        report = kill_workers_on(uri, kills, seed=seed)
    typer.echo("\n".join(f"{name}: {count}" for name, count in report.items()))
    if any(report[name] for name in FAULTS):
        raise typer.Exit(1)


class BatchRun(Run):
    """What the senders of batches share; `ids` are those of the orders."""

    def _send(self, client: httpx2.Client, number: int, key: str) -> str:
        headers = {"x-api-key": self.server.key, "idempotency-key": key}
        while True:
            try:
                answer = client.post(BATCH, json={"operations": _operations(number)}, headers=headers)
            except httpx2.TransportError:
                self.count("without an answer")
                time.sleep(0.05)
                continue
            self.count(f"answers {answer.status_code}{' replayed' * ('idempotency-replayed' in answer.headers)}")
            if answer.status_code == 200:
                return str(answer.json()["results"][0]["document"]["id"])
            time.sleep(0.1)


def _operations(number: int) -> list[dict[str, Any]]:
    sender, line = number % SENDERS, {"op": "create", "collection": "lines", "data": {"order_id": {"$id": "o"}}}
    return [
        {"op": "create", "collection": "orders", "as": "o", "data": {"number": number}},
        *([line] * LINES),
        {"op": "update", "collection": "ledgers", "id": _ledger(sender), "increment": {"orders": 1}},
    ]


def _ledger(sender: int) -> str:
    return f"{sender:024x}"


def kill_workers_on(uri: str, kills: int, *, seed: int) -> dict[str, int]:
    """What clients were told, and what is stored, on a MongoDB that gives transactions of killed workers up soon."""
    with serving(uri, "f_batches_", workers=WORKERS) as server:
        for name, schema in SCHEMAS.items():
            server.request("POST", "/api/collections", json={"name": name, "schema": schema}).raise_for_status()
        run = BatchRun(server)
        _open_ledgers(run)
        senders = [threading.Thread(target=run.send_until_over, args=(number,)) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        chance = random.Random(seed)  # noqa: S311 - a fixed seed repeats the draws
        for number in range(kills):
            # A worker that has just begun has done nothing yet that a kill could halve.
            _await_answers(run)
            kill_at_random(run, number + 1, chance)
        run.is_over = True
        for sender in senders:
            sender.join()
        return {**run.outcomes, **_compare(run)}


def _await_answers(run: Run) -> None:
    """Returns when some batches more were done."""
    enough = len(run.ids) + SENDERS
    while len(run.ids) < enough:
        time.sleep(0.01)


def _open_ledgers(run: Run) -> None:
    """Ledgers with ids that the senders know, which the service would not give them."""
    made = run.server.request("POST", "/api/collections/ledgers/documents", json={"data": {"sender": -1, "orders": 0}})
    made.raise_for_status()
    ledgers = run.server.database["c_ledgers"]
    pattern = ledgers.find_one({}) or {}
    ledgers.insert_many(
        {**pattern, "_id": _ledger(sender), "data": {"sender": sender, "orders": 0}} for sender in range(SENDERS)
    )


def _compare(run: Run) -> dict[str, int]:
    database = run.server.database
    orders = {each["_id"]: each["data"]["number"] for each in database["c_orders"].find()}
    lines = Counter(each["data"]["order_id"] for each in database["c_lines"].find())
    kept = Counter(number % SENDERS for number in orders.values())
    ledgers = {each["data"]["sender"]: each["data"]["orders"] for each in database["c_ledgers"].find()}
    return {
        "batches": len(run.ids),
        "written twice": sum(count > 1 for count in Counter(orders.values()).values()),
        "lost": sum(orders.get(id_) != number for number, id_ in run.ids.items()),
        "halves": sum(lines[order] != LINES for order in orders)
        + sum(order not in orders for order in lines)
        + sum(ledgers[sender] != kept[sender] for sender in range(SENDERS)),
        "other answers": run.outcomes["other answers"],
    }
