"""Writes to a connection within one turn go out in one piece, and nothing is lost when it closes."""

import asyncio
from typing import Any, cast

from service.fast.write_buffer import MANY_BYTES, WriteBuffer


class Transport:
    def __init__(self) -> None:
        self.told: list[Any] = []
        self.is_lost = False

    def is_closing(self) -> bool:
        return self.is_lost

    def writelines(self, pieces: list[bytes]) -> None:
        self.told.append(b"".join(pieces))

    def close(self) -> None:
        self.told.append("closed")

    def pause_reading(self) -> None:
        self.told.append("paused")


def joined(transport: Transport) -> WriteBuffer:
    return WriteBuffer(cast("asyncio.Transport", transport))


async def test_head_and_body_go_out_together() -> None:
    transport = Transport()
    writes = joined(transport)
    writes.write(b"head")
    writes.write(b"body")
    assert transport.told == []
    await asyncio.sleep(0)
    writes.write(b"more")
    await asyncio.sleep(0)
    assert transport.told == [b"headbody", b"more"]


async def test_closing_sends_what_waits_first() -> None:
    transport = Transport()
    writes = joined(transport)
    writes.write(b"last words")
    writes.close()
    await asyncio.sleep(0)
    assert transport.told == [b"last words", "closed"]


async def test_much_is_not_kept_waiting() -> None:
    transport = Transport()
    joined(transport).write(b"x" * MANY_BYTES)
    assert transport.told == [b"x" * MANY_BYTES]


async def test_nothing_is_written_to_a_connection_that_was_lost_meanwhile() -> None:
    transport = Transport()
    joined(transport).write(b"too late")
    transport.is_lost = True
    await asyncio.sleep(0)
    assert transport.told == []


async def test_everything_else_is_the_transports_own() -> None:
    transport = Transport()
    joined(transport).pause_reading()
    assert transport.told == ["paused"]
