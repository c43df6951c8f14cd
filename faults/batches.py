"""Workers killed again and again under batches with an Idempotency-Key, each sent until it is answered, and then once more.

`python -m faults batches [--kills 1000] [--seed 7]`. A batch creates an order, two lines that name it, and counts it in the
sender's ledger. An order without its two lines, lines without their order, and a ledger that counts otherwise are halves.
Looks after each 10 kills, and fails unless there is none.
"""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx2
import typer

from faults.aborts import give_up_soon
from faults.idempotency import SENDERS, STUCK_SECONDS, WORKERS, Run, kill_in_rounds, tell
from faults.server import serving
from faults.waiting import wait_until
from service.embedded.mongod import embedded_mongodb

BATCH = "/api/batch"
NUMBER: dict[str, Any] = {"number": {"type": "integer"}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "orders": NUMBER,
    "lines": {"order_id": {"type": "reference", "collection": "orders"}},
    "ledgers": {"sender": {"type": "integer", "unique": True}, "orders": {"type": "integer"}},
}
LINES = 2


def main(
    kills: Annotated[int, typer.Option(help="How often a worker is killed.", min=1)] = 1_000,
    seed: Annotated[int, typer.Option(help="What the random moments are drawn from.")] = 7,
) -> None:
    """Kill workers under batches, and look for what was written twice or by half."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        give_up_soon(uri)
        tell(kill_workers_on(uri, kills, seed=seed, tell_round=typer.echo))


class BatchRun(Run):
    """State the senders of batches share; `ids` are those of the orders."""

    def await_work(self) -> None:
        """Some batches more: a worker that has just begun has done nothing yet that a kill could halve."""
        enough = len(self.ids) + SENDERS
        wait_until(lambda: len(self.ids) >= enough, STUCK_SECONDS)

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

    def compare(self) -> dict[str, int]:
        database = self.server.database
        orders = {each["_id"]: each["data"]["number"] for each in database["c_orders"].find()}
        lines = Counter(each["data"]["order_id"] for each in database["c_lines"].find())
        kept = Counter(number % SENDERS for number in orders.values())
        ledgers = {each["data"]["sender"]: each["data"]["orders"] for each in database["c_ledgers"].find()}
        return {
            "batches": len(self.ids),
            "written twice": sum(count > 1 for count in Counter(orders.values()).values()),
            "lost": sum(orders.get(id_) != number for number, id_ in self.ids.items()),
            "halves": sum(lines[order] != LINES for order in orders)
            + sum(order not in orders for order in lines)
            + sum(ledgers[sender] != kept[sender] for sender in range(SENDERS)),
            "other answers": self.outcomes["other answers"],
        }


def _operations(number: int) -> list[dict[str, Any]]:
    sender, line = number % SENDERS, {"op": "create", "collection": "lines", "data": {"order_id": {"$id": "o"}}}
    return [
        {"op": "create", "collection": "orders", "as": "o", "data": {"number": number}},
        *([line] * LINES),
        {"op": "update", "collection": "ledgers", "id": _ledger(sender), "increment": {"orders": 1}},
    ]


def _ledger(sender: int) -> str:
    return f"{sender:024x}"


def kill_workers_on(
    uri: str, kills: int, *, seed: int, tell_round: Callable[[str], None] | None = None
) -> dict[str, int]:
    """Compares acknowledged answers with stored records, on a MongoDB that soon aborts transactions of killed workers."""
    with serving(uri, "f_batches_", workers=WORKERS) as server:
        for name, schema in SCHEMAS.items():
            server.request("POST", "/api/collections", json={"name": name, "schema": schema}).raise_for_status()
        run = BatchRun(server)
        _open_ledgers(run)
        return kill_in_rounds(run, kills, seed, tell_round)


def _open_ledgers(run: Run) -> None:
    """Ledgers with ids that the senders know, which the service would not give them."""
    made = run.server.request("POST", "/api/collections/ledgers/documents", json={"data": {"sender": -1, "orders": 0}})
    made.raise_for_status()
    ledgers = run.server.database["c_ledgers"]
    pattern = ledgers.find_one({}) or {}
    ledgers.insert_many(
        {**pattern, "_id": _ledger(sender), "data": {"sender": sender, "orders": 0}} for sender in range(SENDERS)
    )
