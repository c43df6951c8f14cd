"""The ring of a worker: failed and slow requests first, a bound on what waits, and a count of the rest."""

from service.bounds import MAX_REQUESTS_WAITING, MAX_REQUESTS_WRITTEN
from service.domain.traffic.tally import Note, Ring


def note(number: int, status: int = 200, seconds: float = 0.01) -> Note:
    return (float(number), "GET", "/api/x", status, seconds, 10, "p", None, None, None, None, f"r{number}")


def test_few_notes_are_all_taken_in_their_order() -> None:
    ring = Ring()
    for number in range(MAX_REQUESTS_WRITTEN):
        ring.note(note(number))
    taken = ring.take()
    assert ([each[0] for each in taken.notes], taken.skipped) == ([float(n) for n in range(MAX_REQUESTS_WRITTEN)], 0)
    assert ring.take().notes == []


def test_failed_and_slow_ones_come_first_and_the_others_in_order() -> None:
    ring = Ring()
    for number in range(500):
        ring.note(note(number, 404 if number == 400 else 200, 2.0 if number == 450 else 0.01))
    taken = ring.take()
    assert [each[0] for each in taken.notes] == [400.0, 450.0, *(float(n) for n in range(MAX_REQUESTS_WRITTEN - 2))]
    assert taken.skipped == 500 - MAX_REQUESTS_WRITTEN


def test_c17_so_many_wait_and_no_more() -> None:
    ring = Ring()
    for number in range(MAX_REQUESTS_WAITING + 5_000):
        ring.note(note(number, 500))
    taken = ring.take()
    assert len(taken.notes) == MAX_REQUESTS_WRITTEN
    assert taken.skipped == MAX_REQUESTS_WAITING + 5_000 - MAX_REQUESTS_WRITTEN
    assert ring.take().skipped == 0
