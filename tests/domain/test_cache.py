"""What a worker remembers: for so long, and so much."""

from service.domain.cache import Cache


def test_a_value_is_known_until_its_time_is_over() -> None:
    recent = Cache[str](10, 5)
    assert recent.put("a", "one") == "one"
    assert recent.get("a") == "one"
    assert recent.get("b") is None
    recent.seconds = 0
    assert recent.get("a") is None


def test_putting_again_begins_anew() -> None:
    recent = Cache[str](2, 5)
    recent.put("a", "one")
    recent.put("b", "two")
    recent.put("a", "three")
    recent.put("c", "four")
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == ("three", None, "four")


def test_clear_forgets_all() -> None:
    recent = Cache[str](2, 5)
    recent.put("a", "one")
    recent.clear()
    assert recent.get("a") is None
