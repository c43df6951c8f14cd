"""The short form of `scripts/faults idempotency`: workers that are killed between the lines of a write."""

from faults.idempotency import FAULTS, kill_workers_on


def test_a_killed_worker_leaves_neither_half_a_write_nor_two(mongodb_uri: str, short_transactions: None) -> None:
    report = kill_workers_on(mongodb_uri, 2, seed=5)
    assert {name: report[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert report["creates"] > 0
