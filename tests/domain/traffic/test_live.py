"""The arithmetic of live streams: which entries are new, and rates of counts that only grow. No I/O."""

from typing import Any

from service.bounds import MAX_LIVE_ENTRIES
from service.domain.traffic.live import WINDOW_SECONDS, Fresh, Rates
from service.storage.request_log import SKIPPED

BUCKETS = [0] * 12


def row(number: int) -> dict[str, Any]:
    return {"_id": f"{number:024}", "project_id": "p"}


def test_the_first_look_only_learns_and_later_ones_take_each_entry_once() -> None:
    fresh = Fresh()
    assert fresh.take([row(2), row(1)]) == ([], 0)
    # An entry of another worker may come late, with a lesser id.
    assert fresh.take([row(4), row(3), row(2), row(1), row(0)]) == ([row(0), row(3), row(4)], 0)
    assert fresh.take([row(4), row(3), row(0)]) == ([], 0)
    fresh.forget()
    assert fresh.take([row(9)]) == ([], 0)


def test_the_newest_are_shown_and_the_others_counted_with_those_that_no_worker_wrote() -> None:
    fresh = Fresh()
    fresh.take([])
    skipped = {"_id": "s", "project_id": SKIPPED, "skipped": 7}
    rows = [row(number) for number in range(MAX_LIVE_ENTRIES + 30, 0, -1)]
    shown, number = fresh.take([skipped, *rows])
    assert (len(shown), shown[-1], number) == (MAX_LIVE_ENTRIES, rows[0], 7 + 30)


def test_rates_are_those_of_the_last_seconds() -> None:
    rates = Rates()
    assert rates.note(0, [100, 10, *BUCKETS]) == {"requests_per_s": 0.0, "errors_per_s": 0.0, "p95_ms": None}
    slow = [0, 0, 0, 0, 0, 60, *BUCKETS[6:]]
    assert rates.note(20, [160, 20, *slow]) == {"requests_per_s": 3.0, "errors_per_s": 0.5, "p95_ms": 50}
    # The first sample is too old by now, and nothing has happened since the second.
    assert rates.note(20 + WINDOW_SECONDS, [160, 20, *slow])["requests_per_s"] == 0.0
