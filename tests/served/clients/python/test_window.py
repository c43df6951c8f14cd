"""The window of a live query keeps the service's order, and knows when documents are missing."""

from random import Random
from typing import Any

from auth_collections_client.window import Window, order

VALUES: list[Any] = [None, -1, 0, 0.5, 2, 10, "", "Z", "a", "é", "\ue000", "🙂", {"a": 1}, False, True]


def row(row_id: str, value: Any) -> dict[str, Any]:
    return {"id": row_id, "data": {"v": value, "email": value}, "created_at": "2026", "updated_at": "2026"}


def test_values_sort_as_the_service_sorts_them() -> None:
    """Null, numbers, text by code points, objects, booleans; ties by id in the same direction."""
    rows = [row(f"{place:02}", value) for place, value in enumerate(VALUES)] + [row("99", None)]
    shuffled = Random(7).sample(rows, len(rows))  # noqa: S311 - an order
    wanted = ["00", "99", *[f"{place:02}" for place in range(1, len(VALUES))]]
    for name in ("v", "data.v", "email"):
        assert [each["id"] for each in sorted(shuffled, key=order(name, "asc"))] == wanted
        assert [each["id"] for each in sorted(shuffled, key=order(name, "desc"))] == wanted[::-1]


def test_arrays_sort_by_their_least_or_greatest_element() -> None:
    rows = [row("a", [5, 1]), row("b", [3]), row("c", []), row("d", 2)]
    assert [each["id"] for each in sorted(rows, key=order("v", "asc"))] == ["c", "a", "d", "b"]
    assert [each["id"] for each in sorted(rows, key=order("v", "desc"))] == ["a", "b", "d", "c"]


def test_k20_random_changes_leave_the_window_of_a_fresh_list() -> None:
    """A window that says that nothing is missing holds the first documents of all, whatever happened."""
    chance = Random(11)  # noqa: S311 - changes
    key = order("v", "asc")
    refills = 0
    for _ in range(200):
        stored = {str(number): row(str(number), chance.choice(VALUES)) for number in range(chance.randrange(12))}
        window = Window(5, key)
        fill(window, stored, key)
        for _ in range(30):
            if window.apply([change(chance, stored) for _ in range(chance.randrange(1, 4))]):
                refills += 1
                fill(window, stored, key)
            assert window.rows == sorted(stored.values(), key=key)[:5]
    assert refills > 100


def fill(window: Window, stored: dict[str, Any], key: Any) -> None:
    rows = sorted(stored.values(), key=key)
    window.reset(rows[: window.limit], is_complete=len(rows) <= window.limit)


def change(chance: Random, stored: dict[str, Any]) -> dict[str, Any]:
    name = str(chance.randrange(14))
    if name in stored and chance.random() < 0.5:
        del stored[name]
        return {"op": "leave", "document_id": name}
    op = "change" if name in stored else "enter"
    stored[name] = row(name, chance.choice(VALUES))
    return {"op": op, "document": stored[name]}
