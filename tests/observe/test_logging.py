"""Log lines: written together at the end of a turn of the event loop, and at once when something is wrong."""

import asyncio
import io

import pytest

from service.observe.logging import CONSOLE, MANY_LINES, LogLines


class Stream(io.BytesIO):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        self.writes.append(data)
        return len(data)


@pytest.fixture
def stream() -> Stream:
    return Stream()


async def test_the_lines_of_one_turn_are_one_write(stream: Stream) -> None:
    lines = LogLines(stream)
    lines.info(b"one")
    lines.info(b"two")
    assert stream.writes == []
    await asyncio.sleep(0)
    lines.info(b"three")
    await asyncio.sleep(0)
    assert stream.writes == [b"one\ntwo\n", b"three\n"]


async def test_what_is_wrong_is_written_at_once_after_all_that_came_before(stream: Stream) -> None:
    lines = LogLines(stream)
    lines.info(b"one")
    lines.warning(b"two")
    assert stream.writes == [b"one\ntwo\n"]
    await asyncio.sleep(0)
    assert len(stream.writes) == 1


async def test_no_more_than_a_hundred_lines_wait(stream: Stream) -> None:
    lines = LogLines(stream)
    for _ in range(MANY_LINES):
        lines.info(b"line")
    assert stream.writes == [b"line\n" * MANY_LINES]


def test_without_an_event_loop_every_line_is_written(stream: Stream) -> None:
    LogLines(stream).info(b"one")
    assert stream.writes == [b"one\n"]


def failed() -> BaseException:
    """An error raised where a secret and much else stand in variables."""
    secret, much = "correct " + "horse", [{"value": "x" * 1_000} for _ in range(1_000)]
    try:
        raise RuntimeError(f"broken, {len(secret) + len(much)}")
    except RuntimeError as error:
        return error


def test_a_traceback_for_a_person_is_plain_and_shows_no_variables() -> None:
    text = CONSOLE(None, "error", {"event": "unhandled_error", "exc_info": failed()})
    assert "unhandled_error" in text
    assert "Traceback (most recent call last):" in text
    assert "RuntimeError: broken" in text
    assert "correct horse" not in text
    assert len(text) < 2_000
