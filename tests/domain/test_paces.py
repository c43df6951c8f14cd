"""Names whose work is slow have fewer places, and little time while others ask."""

from collections.abc import Callable
from math import inf

import pytest

from service.domain import paces
from service.domain.paces import (
    BOARD_PLACES,
    BOARD_SECONDS,
    KEPT_PACES,
    PRESENT_SECONDS,
    Fewer,
    Paces,
    Presence,
)

PLACES = 8
Wait = Callable[[float], None]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Moves the clock on."""
    clock = [100.0]
    monkeypatch.setattr(paces, "monotonic", lambda: clock[0])

    def move(seconds: float) -> None:
        clock[0] += seconds

    return move


def make(presence: Presence) -> Paces:
    return Paces(Fewer(2, 0.1, presence, share=0.25, saved=0.25))


def count(found: Paces, name: str) -> int:
    """The places that the name may have at once."""
    return next(taken for taken in range(PLACES + 1) if not found.allow(name, taken, PLACES))


def test_others_are_present_for_a_moment(wait: Wait) -> None:
    presence = Presence()
    assert not presence.has_others("a")
    presence.note("a")
    assert (presence.has_others("a"), presence.has_others("b")) == (False, True)
    wait(0.6)
    presence.note("b")
    presence.note("b")
    assert (presence.has_others("a"), presence.has_others("b")) == (True, True)
    wait(PRESENT_SECONDS - 0.6)
    assert (presence.has_others("a"), presence.has_others("b")) == (True, False)
    wait(0.6)
    assert not presence.has_others("a")


def test_others_are_seen_at_other_workers_of_the_board(wait: Wait) -> None:
    board = [-inf] * BOARD_PLACES
    here, there, apart = Presence(), Presence(), Presence()
    for presence in (here, there):
        presence.join(board)
    here.note("a")
    there.note("a")
    assert (here.has_others("a"), here.has_others("b")) == (False, True)
    there.note("b")
    # A presence reads the board again after that time.
    wait(BOARD_SECONDS)
    assert (here.has_others("a"), there.has_others("b"), apart.has_others("a")) == (True, True, False)
    here.note("a")
    wait(PRESENT_SECONDS - BOARD_SECONDS)
    assert (here.has_others("a"), there.has_others("b")) == (False, True)


def test_a_slow_name_alone_has_its_places_at_any_time(wait: Wait) -> None:
    presence = Presence()
    found = make(presence)
    for _ in range(20):
        presence.note("a")
        assert count(found, "a") == 2
        found.note("a", 2.0)
    wait(0.01)
    assert found.find_delay("a") == 0


def test_a_quick_name_has_all_places_beside_others(wait: Wait) -> None:
    presence = Presence()
    found = make(presence)
    presence.note("b")
    for _ in range(200):
        found.note("a", 0.1)
    wait(0.01)
    assert (count(found, "a"), found.find_delay("a")) == (PLACES, 0)


def test_a_slow_name_has_one_place_and_a_quarter_of_the_time_beside_others(wait: Wait) -> None:
    presence = Presence()
    found = make(presence)
    presence.note("b")
    assert count(found, "a") == 1
    found.note("a", 0.25)
    assert count(found, "a") == 1
    found.note("a", 0.5)
    assert (count(found, "a"), found.find_delay("a")) == (0, 2.0)
    wait(0.99)
    presence.note("b")
    wait(0.99)
    assert count(found, "a") == 0
    wait(0.03)
    presence.note("b")
    assert count(found, "a") == 1


def test_a_slow_name_has_its_places_again_when_others_have_left(wait: Wait) -> None:
    presence = Presence()
    found = make(presence)
    presence.note("b")
    found.note("a", 2.0)
    assert count(found, "a") == 0
    wait(PRESENT_SECONDS)
    assert count(found, "a") == 2


@pytest.mark.parametrize(("turns", "quick", "expected", "margin"), [(6_000, 0, 150, 0.01), (3_000, 20, 75, 0.02)])
def test_over_time_a_slow_name_works_a_quarter_of_it(
    wait: Wait, turns: int, quick: int, expected: float, margin: float
) -> None:
    """Quick work in between hides none of the slow work."""
    presence, worked = Presence(), 0.0
    found = make(presence)
    for _ in range(turns):
        presence.note("b")
        if found.allow("a", 0, PLACES):
            found.note("a", 0.4)
            worked += 0.4
        for _ in range(quick):
            found.note("a", 0.001)
        wait(0.1)
    assert worked == pytest.approx(expected, rel=margin)


def test_of_the_paces_only_the_last_are_kept() -> None:
    found = make(Presence())
    for number in range(KEPT_PACES + 10):
        found.note(str(number), 1.0)
    assert len(found._kept) == KEPT_PACES  # noqa: SLF001 - what it is about is that nothing else stays
    assert "9" not in found._kept  # noqa: SLF001 - as above
