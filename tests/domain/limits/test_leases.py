"""The size of the slice a worker asks for, and the time it gives it back."""

import pytest

from service.domain.limits.leases import IDLE_SECONDS, MAX_SLICE, QUICK_SECONDS, REFUSAL_SECONDS, Lease, next_size
from service.domain.limits.limiter import seconds_until, window_end
from service.domain.limits.policies import DAY, HOUR


@pytest.mark.parametrize(
    ("size", "spent_in", "limit", "expected"),
    [
        pytest.param(2, 0.0, 10_000, 8, id="grows when it was spent quickly"),
        pytest.param(MAX_SLICE, 0.1, 10**9, MAX_SLICE, id="no larger than the largest"),
        pytest.param(64, 0.1, 1_000, 100, id="no larger than a part of the limit"),
        pytest.param(1, 0.0, 5, 1, id="never nothing"),
        pytest.param(100, QUICK_SECONDS, 10_000, 50, id="halves when it lasted"),
        pytest.param(1, 60.0, 10_000, 1, id="never less than one"),
    ],
)
def test_the_next_slice(size: int, spent_in: float, limit: int, expected: int) -> None:
    assert next_size(size, spent_in, limit) == expected


def test_a_lease_lets_through_what_it_received_and_no_more() -> None:
    lease = Lease("k", 3600, 0.0)
    assert lease.next_slice(0.0, 1000) == 1
    assert not lease.spend(0.0)
    lease.receive(2, wanted=2, free=5, now=0.0)
    assert [lease.spend(0.0) for _ in range(3)] == [True, True, False]
    assert lease.next_slice(1.0, 1000) == 8


def test_a_lease_that_was_granted_nothing_refuses_for_a_moment() -> None:
    lease = Lease("k", 3600, 0.0)
    lease.receive(0, wanted=8, free=0, now=10.0)
    assert lease.refused_until == 10.0 + REFUSAL_SECONDS


def test_an_idle_lease_surrenders_what_is_left_once() -> None:
    lease = Lease("k", 3600, 0.0)
    lease.receive(7, wanted=7, free=0, now=0.0)
    assert not lease.is_idle(IDLE_SECONDS)
    assert lease.is_idle(IDLE_SECONDS + 0.1)
    assert [lease.release(), lease.release()] == [7, 0]


@pytest.mark.parametrize(
    ("now", "seconds", "end"),
    [(0.0, HOUR, 3600), (3599.999, HOUR, 3600), (3600.0, HOUR, 7200), (86399.9, DAY, 86400), (86400.0, DAY, 172800)],
)
def test_windows_are_whole_hours_and_days_in_utc(now: float, seconds: int, end: int) -> None:
    assert window_end(now, seconds) == end


@pytest.mark.parametrize(
    ("end", "now", "seconds"), [(3600, 3599.5, 1), (3600, 3599.0, 1), (3600, 3598.99, 2), (3600, 3600.0, 1)]
)
def test_whoever_waits_as_told_comes_after_the_window_and_within_a_second(end: int, now: float, seconds: int) -> None:
    assert seconds_until(end, now) == seconds
