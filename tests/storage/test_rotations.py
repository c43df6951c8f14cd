"""A refresh is tried as a plain step first, and then as a decision: the result is the same."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest

from service.errors import Unavailable
from service.schema.values import now
from service.storage import rotations
from service.storage.client import Database
from service.storage.databases import ProjectDatabase
from service.storage.layout import SESSIONS
from service.storage.records import Records
from service.storage.rotations import Terms, Verdict, rotate

# MongoDB's clock counts the grace, so it is longer than the test takes.
GRACE, LIMIT, HOUR = 200, 5, 3_600
# The times that MongoDB wrote as its own.
CLOCK = ("rotated_at", "last_used_at", "reused_at")


def terms(moment: datetime, **different: Any) -> Terms:
    given: dict[str, Any] = {"moment": moment, "grace_seconds": GRACE, "limit": LIMIT, "hour_end": HOUR}
    return Terms(**{**given, "tokens_until": moment + timedelta(seconds=900), **different})


def session(moment: datetime, **different: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"_id": "s", "user_id": "u", "ver": 1, "ip": "", "user_agent": "", "amr": [], "aal": 1}
    given |= dict.fromkeys(("created_at", "auth_time", "tokens_until", "last_used_at"), moment - timedelta(seconds=60))
    return {**given, "expires_at": moment + timedelta(days=1), "count": 1, **different}


def states(moment: datetime) -> list[dict[str, Any]]:
    """Sessions that differ in all that a verdict depends on."""
    asked: list[dict[str, Any]] = [{}, *({"asked": {"until": HOUR, "n": n}} for n in (1, LIMIT - 1, LIMIT))]
    asked += [{"asked": {"until": HOUR - 3_600, "n": LIMIT}}]
    rotated: list[dict[str, Any]] = [{}, *({"rotated_at": moment - timedelta(seconds=ago)} for ago in (1, 300))]
    seen: list[dict[str, Any]] = [{}, {"seen": 0}, {"seen": 2}]
    over: list[dict[str, Any]] = [{}, {"reused_at": moment}, {"last_used_at": moment - timedelta(hours=2)}]
    over += [{"expires_at": moment + timedelta(seconds=left)} for left in (-1, 60)]
    over += [{"tokens_until": moment + timedelta(hours=9)}]
    return [{**a, **b, **c, **d} for a, b, c, d in product(asked, rotated, seen, over)]


async def outcomes(
    project: ProjectDatabase, sessions: list[dict[str, Any]], presented: list[int], by: Terms
) -> list[tuple[Any, ...]]:
    """For each session, whose ids differ, what was answered, and what is stored then but for MongoDB's clock."""
    records = project.records(SESSIONS)
    await records.delete_many({})
    await records.insert_many(sessions)
    answers = [await rotate(project, record["_id"], n, by) for record, n in zip(sessions, presented, strict=True)]
    stored = {record["_id"]: record for record in await records.find_all({}, limit=len(sessions))}
    found = []
    for record, answer in zip(sessions, answers, strict=True):
        now_there = stored.get(record["_id"], {})
        moved = {name for name in CLOCK if now_there.get(name) != record.get(name)}
        rest = {name: value for name, value in now_there.items() if name not in CLOCK}
        found.append((answer.verdict, answer.asked, rest, moved))
    return found


async def test_the_step_does_what_the_decision_would(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    moment, project, verdicts = now(), ProjectDatabase(database), Counter[Verdict]()
    cases = [(state, presented) for state in states(moment) for presented in (0, 1, 2)]
    sessions = [session(moment, _id=str(number), **state) for number, (state, _) in enumerate(cases)]
    presented = [n for _, n in cases]
    for by in (terms(moment), terms(moment, limit=0, idle_since=moment - timedelta(hours=1))):
        tried = await outcomes(project, sessions, presented, by)
        with monkeypatch.context() as patched:
            patched.setattr(rotations, "_step", lambda *_: ({"_id": "nobody"}, [{"$set": {"count": 0}}]))
            decided = await outcomes(project, sessions, presented, by)
        assert tried == decided
        verdicts.update(found[0] for found in tried)
    assert verdicts.keys() == set(Verdict)


class Pause:
    """Holds the first request whose step found no session until another one is through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()
        original = Records.update_again

        async def update_again(records: Records, *arguments: Any) -> Any:
            found = await original(records, *arguments)
            if found is None and not self.reached.is_set():
                self.reached.set()
                await self.go_on.wait()
            return found

        monkeypatch.setattr(Records, "update_again", update_again)


@pytest.mark.parametrize(
    ("first", "others", "expected"),
    [
        # The same token: one rotates, and the other is given the same.
        (1, (1,), (Verdict.GRANTED, 2)),
        # The parent, whose successor was used up meanwhile: a grandparent by then.
        (0, (1,), (Verdict.REFUSED, 2)),
        # No session had the count when the step was tried, and it had gone past it at the decision.
        (2, (1, 2), (Verdict.GRANTED, 3)),
    ],
)
async def test_s1_who_comes_between_the_step_and_the_decision(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    others: tuple[int, ...],
    expected: tuple[Verdict, int],
) -> None:
    moment, project = now(), ProjectDatabase(database)
    # So near its end that no step finds it.
    await project.records(SESSIONS).put(session(moment, expires_at=moment + timedelta(seconds=60)))
    pause, by = Pause(monkeypatch), terms(moment)
    waiting = asyncio.create_task(rotate(project, "s", first, by))
    await pause.reached.wait()
    assert {(await rotate(project, "s", each, by)).verdict for each in others} == {Verdict.GRANTED}
    pause.go_on.set()
    found = await waiting
    assert (found.verdict, found.session.count if found.session else None) == expected


@pytest.mark.parametrize("left", [60, 86_400])
@pytest.mark.parametrize(("limit", "granted"), [(0, 40), (LIMIT, LIMIT)])
async def test_s1_of_many_at_once_one_rotates_and_as_many_are_granted_as_may_be(
    database: Database, left: int, limit: int, granted: int
) -> None:
    moment, project = now(), ProjectDatabase(database)
    await project.records(SESSIONS).put(session(moment, expires_at=moment + timedelta(seconds=left)))
    found = await asyncio.gather(*(rotate(project, "s", 1, terms(moment, limit=limit)) for _ in range(40)))
    assert Counter(each.verdict for each in found)[Verdict.GRANTED] == granted
    stored = await project.records(SESSIONS).find({"_id": "s"}) or {}
    assert (stored["count"], stored["asked"]["n"]) == (2, 40)


async def test_a_write_whose_majority_is_unknown_is_no_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Records(database["things"])
    await records.insert({"_id": "a"})
    original = type(database).command

    async def command(*arguments: Any, **named: Any) -> Any:
        reply: dict[str, Any] = await original(*arguments, **named)
        return {**reply, "writeConcernError": {"code": 11602, "errmsg": "InterruptedDueToReplStateChange"}}

    monkeypatch.setattr(type(database), "command", command)
    with pytest.raises(Unavailable):
        await records.update_again({"_id": "a"}, {"$set": {"n": 1}})
