"""Channels: subscriptions to the same records in the same form share one, and receive the same bytes.

The effect of a change on a channel follows from the record before it and after it: nothing of what was sent is kept.
Delivery is made of short steps: the caller may do something else after any of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol
from weakref import WeakValueDictionary

import orjson

from service.domain.realtime.forms import RecordForm, Row, write_data
from service.observe.metrics import DELIVERIES
from service.query.anchors import AnchorIndex, find_anchor
from service.query.closures import compile_tree, find_searches, find_starts, search_ahead, sort_ahead
from service.query.nodes import View
from service.query.populate import ShowRow
from service.query.reading import Reading
from service.query.tree import Tree
from service.schema.steps import Steps
from service.storage.changes import Image, RecordChange, decode_image

# The reasons of a `resync`, for a gap in the stream.
TOO_LARGE, HISTORY = "large", "history"
# A step delivers to so many members, of a frame of this many bytes together: either takes a few milliseconds.
MEMBERS_AT_ONCE, BYTES_AT_ONCE = 512, 8_388_608
# A resync also makes the task that reads the snapshot.
RESYNCS_AT_ONCE = 32


class ChannelMember(Protocol):
    """One subscription."""

    def deliver(self, at: int, changes: bytes) -> bool:
        """The changes of one moment, as the inside of a JSON array; whether they were sent at once."""
        raise NotImplementedError

    def resync(self, reason: str) -> None:
        """Begins again with a snapshot."""


class Images:
    """A change, of which each image is read once for all channels.

    `missing` is the reason why one of them is unknown.
    """

    __slots__ = ("_written", "after", "before", "id", "missing")

    def __init__(self, change: RecordChange) -> None:
        self.id = change.id
        self.before = _read(change.before)
        self.after = _read(change.after)
        self.missing = TOO_LARGE if change.is_large else None if change.is_complete else HISTORY
        self._written: dict[RecordForm, bytes] = {}

    @property
    def readings(self) -> list[Reading]:
        return [each for each in (self.before, self.after) if each is not None]

    def write(self, form: RecordForm) -> bytes:
        """The record now, as all who may read the whole of it see it."""
        if form not in self._written and self.after is not None:
            self._written[form] = form.write(self.after.record)
        return self._written[form]


def _read(image: Image) -> Reading | None:
    record = decode_image(image)
    return Reading(record) if record is not None else None


class Channel:
    """The records that satisfy `tree`, in one form. `members` receive their changes."""

    __slots__ = ("_form", "_judge", "_searches", "_show", "_starts", "_view", "anchor", "bounds", "key", "members")

    def __init__(self, key: str, tree: Tree, form: RecordForm, show: ShowRow | None, view: View | None) -> None:
        self._form = form
        self.key = key
        self.members: dict[ChannelMember, None] = {}
        # The bound queries of its members, by order and limit, as long as a member has one.
        self.bounds: WeakValueDictionary[object, Any] = WeakValueDictionary()
        self.anchor = find_anchor(tree)
        self._judge = compile_tree(tree)
        self._searches = find_searches(tree)
        self._starts = find_starts(tree)
        self._show = show
        self._view = view

    def tell(self, at: int, changes: Sequence[Images]) -> Steps[bool]:
        """Delivers the changes of one moment to the members, in one frame."""
        written = []
        for images in changes:
            yield from self.look_ahead(images)
            try:
                if (found := self.read(images)) is not None:
                    written.append(found)
            except Missing as missing:
                return (yield from self.resync(str(missing)))
            yield
        if written:
            yield from self._deliver(at, b",".join(written))
        return True

    def look_ahead(self, images: Images) -> Iterator[None]:
        """Searches long texts and sorts many in steps of their own, before the images are judged."""
        for reading in images.readings if self._searches or self._starts else ():
            yield from search_ahead(self._searches, reading)
            yield from sort_ahead(self._starts, reading)

    def read(self, images: Images) -> bytes | None:
        """The effect of the change on the channel's followers, as JSON; None if there is none. Raises Missing."""
        if images.missing is not None:
            raise Missing(images.missing)
        before = images.before.record if images.before is not None and self._judge(images.before) else None
        after = images.after.record if images.after is not None and self._judge(images.after) else None
        if after is None:
            return b'{"op":"leave","document_id":%s}' % orjson.dumps(str(images.id)) if before is not None else None
        shown = self._write(images, after)
        if before is None:
            return b'{"op":"enter","document":%s}' % shown
        return None if self._is_hidden(before, after, shown) else b'{"op":"change","document":%s}' % shown

    def _write(self, images: Images, after: Row) -> bytes:
        is_whole = self._show is None and self._view is None
        return images.write(self._form) if is_whole else self._form.write(self._shown(after))

    def _is_hidden(self, before: Row, after: Row, shown: bytes) -> bool:
        """True if no readable field differs."""
        if not self._form.is_touched:
            return self._form.write(self._shown(before)) == shown
        return (
            self._view is not None and _differ(before, after) and not _differ(self._shown(before), self._shown(after))
        )

    def _shown(self, record: Row) -> Row:
        row = {**record, "data": dict(record["data"])}
        if self._show is not None:
            self._show(row)
        return self._view(row) if self._view is not None else row

    def _deliver(self, at: int, changes: bytes) -> Iterator[None]:
        """To the members of now; those that left after a step are passed over."""
        members, count = list(self.members), _count_at_once(changes)
        for start in range(0, len(members), count):
            some = members[start : start + count]
            present = [member for member in some if member in self.members] if start else some
            DELIVERIES.inc(sum([member.deliver(at, changes) for member in present]))
            yield

    def resync(self, reason: str) -> Steps[bool]:
        for number, member in enumerate(list(self.members)):
            if member in self.members:
                member.resync(reason)
            if number % RESYNCS_AT_ONCE == RESYNCS_AT_ONCE - 1:
                yield
        return True


class Missing(Exception):
    """A change with an unknown image; the message is the reason of a `resync`."""


def _count_at_once(changes: bytes) -> int:
    return max(1, min(MEMBERS_AT_ONCE, BYTES_AT_ONCE // max(1, len(changes))))


def _differ(one: Row, other: Row) -> bool:
    return write_data(one) != write_data(other)


class ChannelIndex:
    """The channels of one collection."""

    def __init__(self) -> None:
        self.by_key: dict[str, Channel] = {}
        self._anchored = AnchorIndex[Channel]()

    def join(self, channel: Channel, member: ChannelMember) -> Channel:
        """The channel of that key, which may be another one that was there."""
        found = self.by_key.get(channel.key)
        if found is None:
            found = self.by_key[channel.key] = channel
            self._anchored.add(channel.anchor, channel)
        found.members[member] = None
        return found

    def leave(self, channel: Channel, member: ChannelMember) -> None:
        channel.members.pop(member, None)
        if not channel.members and self.by_key.pop(channel.key, None) is not None:
            self._anchored.discard(channel.anchor, channel)

    def tell(self, at: int, changes: Iterable[RecordChange]) -> Steps[bool]:
        """Delivers one moment to each channel that it concerns."""
        concerned: dict[Channel, list[Images]] = {}
        for change in changes:
            images = Images(change)
            for channels in self._find(images):
                for channel in channels:
                    _add(concerned.setdefault(channel, []), images)
                yield
        for channel, found in concerned.items():
            yield from channel.tell(at, found)
        return True

    def _find(self, images: Images) -> Iterator[Iterable[Channel]]:
        """The channels the change may concern: all, if an image of the record is missing."""
        return self._anchored.find(images.readings) if images.missing is None else iter((list(self.by_key.values()),))

    def resync(self, reason: str) -> Steps[bool]:
        for channel in list(self.by_key.values()):
            yield from channel.resync(reason)
        return True


def _add(found: list[Images], images: Images) -> None:
    """Once, though several values of the record may lead to a channel."""
    if not found or found[-1] is not images:
        found.append(images)
