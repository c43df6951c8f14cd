"""Look-ups of names: kept, shared, bounded."""

import threading

import pytest

from service.outbound.names import NameNotFound, Names


async def test_callers_of_one_name_share_a_look_up_that_hangs_and_wait_no_longer_than_their_deadline() -> None:
    asked, free = list[str](), threading.Event()

    def look_up(host: str) -> list[str]:
        asked.append(host)
        free.wait()
        return ["93.184.215.14"]

    names = Names(look_up, seconds=0.05)
    try:
        for _ in range(3):
            with pytest.raises(NameNotFound):
                await names.resolve("slow.test")
        assert asked == ["slow.test"]
    finally:
        free.set()
        names.close()


@pytest.mark.parametrize("found", [[], ["fe80::1%2"], ["93.184.215.14", "fe80::1%2"]])
async def test_a_name_without_an_address_or_with_one_of_a_zone_is_not_found(found: list[str]) -> None:
    names = Names(lambda _: found)
    with pytest.raises(NameNotFound):
        await names.resolve("name.test")
    names.close()


async def test_addresses_are_kept_and_the_oldest_name_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.outbound.names.MAX_KEPT_NAMES", 2)
    asked = list[str]()

    def look_up(host: str) -> list[str]:
        asked.append(host)
        return ["93.184.215.14"]

    names = Names(look_up)
    for host in ("a.test", "b.test", "b.test", "c.test", "b.test", "a.test"):
        await names.resolve(host)
    assert asked == ["a.test", "b.test", "c.test", "a.test"]
    names.close()
