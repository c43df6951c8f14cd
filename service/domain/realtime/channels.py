"""Who follows what: subscriptions to the same records in the same form are one channel, and are told the same bytes.

What a change is to a channel follows from the record before it and after it: nothing of what was sent is kept.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from weakref import WeakValueDictionary

import orjson

from service.observe.metrics import DELIVERIES
from service.query.account_shape import show_account
from service.query.closures import Judge, compile_tree
from service.query.nodes import View
from service.query.populate import ShowRow
from service.query.reading import Reading
from service.query.tree import All, Leaf, Tree
from service.storage.change_feed import LARGE, Change

Row = Mapping[str, Any]
# Why what was told is not all: the reasons of a `resync`.
TOO_LARGE, HISTORY = "large", "history"


USER_PARTS = (("id", "_id"), ("email", "email"), ("data", "data"), ("created_at", "created_at"))


@dataclass(frozen=True, slots=True)
class Form:
    """How records are told. `is_touched`: a write that changes nothing of what is told is a change all the same, as in

    documents, of which everybody sees the version.
    """

    write: Callable[[Mapping[str, Any]], bytes]
    is_touched: bool = False


class Member(Protocol):
    """One subscription."""

    def deliver(self, at: int, changes: bytes) -> bool:
        """The changes of one moment, as the inside of a JSON array; whether they were sent at once."""
        raise NotImplementedError

    def resync(self, reason: str) -> None:
        """It begins anew."""


def write_document(row: Mapping[str, Any]) -> bytes:
    """A document as a list of documents shows it."""
    shown = {
        "id": row["_id"],
        "data": row["data"],
        "created_at": row.get("created_at"),
        "updated_at": row.get("updated_at"),
        "version": row.get("version", 0),
    }
    return orjson.dumps(shown, _write, orjson.OPT_PASSTHROUGH_DATETIME)


def write_user(row: Mapping[str, Any]) -> bytes:
    """A user as a list of users shows one."""
    shown = {name: row[key] for name, key in USER_PARTS if key in row}
    return orjson.dumps(shown, _write, orjson.OPT_PASSTHROUGH_DATETIME)


def write_account(row: Mapping[str, Any]) -> bytes:
    """A user as a list of users by the secret key shows one."""
    shown = {name: row[key] for name, key in USER_PARTS} | show_account(row)
    return orjson.dumps(shown, _write, orjson.OPT_PASSTHROUGH_DATETIME)


def _write(value: object) -> str:
    return value.isoformat("T", "milliseconds") + "Z" if isinstance(value, datetime) else str(value)


class Images:
    """A change, of which each image is read once for all channels. `missing` says why one of them is not known."""

    __slots__ = ("after", "before", "id", "missing")

    def __init__(self, change: Change) -> None:
        self.id = change.id
        self.before = Reading(change.before) if isinstance(change.before, dict) else None
        self.after = Reading(change.after) if isinstance(change.after, dict) else None
        self.missing = TOO_LARGE if LARGE in (change.before, change.after) else None if change.is_complete else HISTORY

    def readings(self) -> list[Reading]:
        return [each for each in (self.before, self.after) if each is not None]


class Channel:
    """The records that satisfy `tree`, in one form. `members` are told."""

    __slots__ = ("_form", "_judge", "_show", "_view", "anchor", "bounds", "key", "members")

    def __init__(self, key: str, tree: Tree, form: Form, show: ShowRow | None, view: View | None) -> None:
        self._form = form
        self.key = key
        self.members: dict[Member, None] = {}
        # What its members are bound to, by order and limit, as long as one of them is.
        self.bounds: WeakValueDictionary[object, Any] = WeakValueDictionary()
        self.anchor = find_anchor(tree)
        self._judge: Judge = compile_tree(tree)
        self._show = show
        self._view = view

    def read(self, images: Images) -> bytes | None:
        """What the change is to who follows the channel, as JSON. Raises Missing."""
        if images.missing is not None:
            raise Missing(images.missing)
        before = images.before.record if images.before is not None and self._judge(images.before) else None
        after = images.after.record if images.after is not None and self._judge(images.after) else None
        if after is None:
            return b'{"op":"leave","document_id":%s}' % orjson.dumps(str(images.id)) if before is not None else None
        if before is None:
            return b'{"op":"enter","document":%s}' % self._form.write(self._shown(after))
        shown = self._shown(after)
        if self._is_hidden(before, after, shown):
            return None
        return b'{"op":"change","document":%s}' % self._form.write(shown)

    def _is_hidden(self, before: Row, after: Row, shown: Row) -> bool:
        """Whether nothing that differs may be read."""
        if not self._form.is_touched:
            return self._form.write(self._shown(before)) == self._form.write(shown)
        return self._view is not None and _differ(before, after) and not _differ(self._shown(before), shown)

    def deliver(self, at: int, changes: bytes) -> None:
        DELIVERIES.inc(sum([member.deliver(at, changes) for member in list(self.members)]))

    def resync(self, reason: str) -> None:
        for member in list(self.members):
            member.resync(reason)

    def _shown(self, record: Row) -> Row:
        row = {**record, "data": dict(record["data"])}
        if self._show is not None:
            self._show(row)
        return self._view(row) if self._view is not None else row


FORM_OF_DOCUMENTS, FORM_OF_USERS = Form(write_document, is_touched=True), Form(write_user)
FORM_OF_ACCOUNTS = Form(write_account)


class Missing(Exception):
    """A change of which MongoDB did not tell what the record was, or is; with the reason of a `resync`."""


def _differ(one: Row, other: Row) -> bool:
    """As JSON, for to Python 1 and true are the same."""
    return _data(one) != _data(other)


def _data(record: Row) -> bytes:
    return orjson.dumps(record["data"], _write, orjson.OPT_PASSTHROUGH_DATETIME)


def find_anchor(tree: Tree) -> tuple[str, frozenset[str]] | None:
    """A path, and texts of which one must be there in every record of the tree: by it a channel is found."""
    for leaf in tree.parts if isinstance(tree, All) else (tree,):
        if isinstance(leaf, Leaf) and not leaf.negated and leaf.operator in {"eq", "in"}:
            values = leaf.value if leaf.operator == "in" else (leaf.value,)
            if all(isinstance(value, str) for value in values):
                return leaf.path, frozenset(values)
    return None


class ChannelIndex:
    """The channels of one collection."""

    def __init__(self) -> None:
        self.by_key: dict[str, Channel] = {}
        self._anchored: defaultdict[str, defaultdict[str, set[Channel]]] = defaultdict(lambda: defaultdict(set))
        self._others: set[Channel] = set()

    def join(self, channel: Channel, member: Member) -> Channel:
        """The channel of that key, which may be another one that was there."""
        found = self.by_key.get(channel.key)
        if found is None:
            found = self.by_key[channel.key] = channel
            for holders in self._places(channel):
                holders.add(channel)
        found.members[member] = None
        return found

    def leave(self, channel: Channel, member: Member) -> None:
        channel.members.pop(member, None)
        if not channel.members and self.by_key.pop(channel.key, None) is not None:
            for holders in self._places(channel):
                holders.discard(channel)
            self._tidy(channel)

    def _places(self, channel: Channel) -> list[set[Channel]]:
        if channel.anchor is None:
            return [self._others]
        path, values = channel.anchor
        return [self._anchored[path][value] for value in values]

    def _tidy(self, channel: Channel) -> None:
        if channel.anchor is not None:
            path, values = channel.anchor
            for value in values:
                if not self._anchored[path][value]:
                    del self._anchored[path][value]
            if not self._anchored[path]:
                del self._anchored[path]

    def find(self, images: Images) -> Iterable[Channel]:
        """Those that the change may concern: all, where it is not told what the record was or is."""
        if images.missing is not None:
            return list(self.by_key.values())
        found = set(self._others)
        for path, holders in self._anchored.items():
            for reading in images.readings():
                for value in reading.at(path).each():
                    if isinstance(value, str):
                        found |= holders.get(value, set())
        return found

    def tell(self, at: int, changes: Iterable[Change]) -> None:
        """Each channel what it is told of one moment, at once."""
        told: dict[Channel, list[bytes]] = {}
        lost: dict[Channel, str] = {}
        for change in changes:
            images = Images(change)
            for channel in self.find(images):
                try:
                    if (written := channel.read(images)) is not None:
                        told.setdefault(channel, []).append(written)
                except Missing as missing:
                    lost[channel] = str(missing)
        for channel in told.keys() - lost.keys():
            channel.deliver(at, b",".join(told[channel]))
        for channel, reason in lost.items():
            channel.resync(reason)
