"""THREATS row V30: replies of a change stream that end in the middle of a moment. Tokens decide, not cluster times."""

from typing import Any

import pytest
from bson import Timestamp
from pymongo import AsyncMongoClient

from service.storage.change_feed import BATCH, ChangeStream

Event = dict[str, Any]


def token(at: int, kind: str = "80") -> dict[str, str]:
    """A resume token begins with its type, 0x82, and the cluster time; that of an event goes on with 0x80."""
    return {"_data": f"82{at << 32 | 1:016x}2B0229{kind}"}


def event(at: int, name: str, **more: Any) -> Event:
    namespace = {"db": "p", "coll": "c_notes"}
    record = {"fullDocument": {"_id": name}, "documentKey": {"_id": name}}
    return {"clusterTime": Timestamp(at, 1), "operationType": "insert", "ns": namespace, **record, **more}


class Replies:
    """A stream that is given replies, and what it has delivered: the names of each moment."""

    def __init__(self) -> None:
        client: Any = AsyncMongoClient(connect=False)
        self.stream = ChangeStream(client, [("p", "c_notes")], 1 << 32 | 1, "")
        self.told: list[list[str]] = []

    def give(self, *events: Event, seen: int | None = None) -> list[list[str]]:
        """`seen` is how far MongoDB has looked; no further than the last event by default, as where a reply is full."""
        last = events[-1]["clusterTime"].time if events else 1
        after = token(last) if seen is None else token(seen, "00")
        moments = self.stream._read(events, {"postBatchResumeToken": after})  # noqa: SLF001
        told = [[change.id for change in moment.changes] for moment in moments]
        self.told += told
        return told


def test_v30_a_batch_that_a_reply_cuts_behind_its_first_event_is_told_whole() -> None:
    """MongoDB 8 writes a batch of inserts as one entry: its events share a cluster time, without a transaction."""
    replies = Replies()
    assert replies.give(event(2, "a"), event(3, "b1")) == [["a"]]
    assert replies.give(event(3, "b2"), event(3, "b3")) == []
    assert replies.give() == [["b1", "b2", "b3"]]


def test_v30_a_batch_over_three_replies_is_one_moment() -> None:
    replies = Replies()
    replies.give(event(2, "a"), event(3, "b1"), event(3, "b2"))
    replies.give(event(3, "b3"), event(3, "b4"))
    replies.give(event(3, "b5"), event(4, "c"))
    replies.give()
    assert replies.told == [["a"], ["b1", "b2", "b3", "b4", "b5"], ["c"]]


def test_v30_a_moment_is_told_at_once_where_the_token_is_later() -> None:
    replies = Replies()
    assert replies.give(event(2, "a"), event(3, "b1"), event(3, "b2"), seen=4) == [["a"], ["b1", "b2"]]


def test_v30_one_event_is_told_at_once() -> None:
    """A reply of one event was not cut: two of our size fit."""
    replies = Replies()
    assert replies.give(event(2, "a")) == [["a"]]


def test_v30_a_batch_is_told_even_where_one_event_came_alone() -> None:
    replies = Replies()
    replies.give(event(3, "b1"))
    replies.give(event(3, "b2"), event(3, "b3"))
    replies.give()
    assert replies.told == [["b1"], ["b2", "b3"]]


def test_v30_a_transaction_waits_for_its_last_event() -> None:
    replies = Replies()
    assert replies.give(event(2, "a", txnNumber=1)) == []
    assert replies.give(event(2, "b", txnNumber=1)) == []
    assert replies.give(event(3, "c")) == [["a", "b"], ["c"]]


def test_v30_a_full_reply_waits_for_more_of_its_last_moment() -> None:
    replies = Replies()
    told = replies.give(*(event(2, str(number)) for number in range(BATCH)))
    assert told == []
    replies.give(event(2, "last"))
    assert [len(names) for names in replies.told] == [BATCH + 1]


@pytest.mark.parametrize("cut", range(1, 8))
def test_v30_wherever_replies_are_cut_every_event_is_told_once_in_order(cut: int) -> None:
    events = [event(at, f"{at}{name}") for at in (2, 3, 4) for name in "abc"]
    replies = Replies()
    for start in range(0, len(events), cut):
        replies.give(*events[start : start + cut])
    replies.give()
    assert [name for names in replies.told for name in names] == [each["documentKey"]["_id"] for each in events]
    if cut > 1:
        assert len(replies.told) == 3


def test_v30_what_was_told_before_the_stream_began_is_not_told_again() -> None:
    assert Replies().give(event(1, "old"), event(2, "new"), seen=3) == [["new"]]
