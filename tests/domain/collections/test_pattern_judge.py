"""THREATS row N17: where a worker matches texts, and whose turn it is."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from service.domain.collections import pattern_judge
from service.domain.collections.pattern_judge import PatternJudge
from service.schema.fields import Fields, parse
from service.schema.patterns import patterned
from service.schema.steps import take_steps

LOC = ("body", "data")


@pytest.fixture
async def judge() -> AsyncIterator[PatternJudge]:
    made = PatternJudge()
    yield made
    made.close()


def with_pattern(pattern: str) -> Fields:
    return patterned(parse({"t": {"type": "string", "pattern": pattern}}))


async def test_n17_long_texts_are_matched_beside_the_event_loop(
    judge: PatternJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may take seconds for what one document may cost."""
    fields, threads = with_pattern("(?:a?){14}c|!$"), list[int]()

    def noting(*arguments: object) -> object:
        threads.append(threading.get_ident())
        return take_steps(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pattern_judge, "take_steps", noting)
    documents = [{"data": {"t": "a" * 1_000_000}}]
    assert await judge.check("p", fields) == []
    assert len(await judge.judge("p", documents[0]["data"], fields, LOC)) == 1
    assert len(await judge.find_mismatches("p", documents, fields, LOC)) == 1
    assert threads
    assert threading.get_ident() not in threads
    threads.clear()
    # To hand it over would take longer than it does.
    assert len(await judge.judge("p", {"t": "a"}, fields, LOC)) == 1
    assert threads == [threading.get_ident()]


async def test_n17_a_project_with_much_to_match_leaves_others_their_turn(judge: PatternJudge) -> None:
    finished: list[str] = []

    async def check(project: str, number: int) -> None:
        await judge.check(project, with_pattern(f"^{project} {number}$"))
        finished.append(project)

    busy = [asyncio.create_task(check("busy", number)) for number in range(20)]
    await asyncio.sleep(0)
    await check("other", 0)
    await asyncio.gather(*busy)
    assert finished.index("other") <= 2
