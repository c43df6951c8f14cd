"""The short form of `scripts/faults batches`: workers that are killed between the operations of a batch."""

from faults.batches import kill_workers_on
from faults.idempotency import FAULTS


def test_a_killed_worker_leaves_neither_half_a_batch_nor_two(mongodb_uri: str, short_transactions: None) -> None:
    report = kill_workers_on(mongodb_uri, 2, seed=7)
    assert {name: report[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert report["batches"] > 0
