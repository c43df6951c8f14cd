"""The changes of a change stream. Records stay encoded until they are delivered, so that those that wait take few bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bson import decode
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from service.storage.change_stages import AFTER, BEFORE, LARGE, NOTES_SIGN_IN, Namespace
from service.storage.client import Document


@dataclass(frozen=True, slots=True)
class Encoded:
    """A record as MongoDB sent it. Decoding one of 1 MiB takes some 5 ms, and up to 20 times its bytes of memory."""

    raw: bytes
    options: CodecOptions[Document]

    def decode(self) -> Document:
        return decode(self.raw, self.options)


Image = Encoded | Document | Literal["large"] | None


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One written record: its image before, None if it was created; and after, None if it was deleted.

    An image is LARGE if it is too large for an event. `is_complete` is false if MongoDB kept no image.
    A change that only `notes_sign_in` of a user changes no user's rights.
    """

    namespace: Namespace
    id: Any
    before: Image
    after: Image
    is_complete: bool = True
    notes_sign_in: bool = False

    @property
    def is_large(self) -> bool:
        return LARGE in (self.before, self.after)

    @property
    def size(self) -> int:
        """The bytes of the images, as far as they are encoded."""
        return sum(len(image.raw) for image in (self.before, self.after) if isinstance(image, Encoded))


@dataclass(frozen=True, slots=True)
class FeedMoment:
    """The changes of one cluster time."""

    at: int
    changes: Sequence[RecordChange]


def read_change(event: Mapping[str, Any], options: CodecOptions[Document]) -> RecordChange:
    """`options` are those by which the records of an event are decoded."""
    kind, before, after = event["operationType"], *(_read_image(event.get(name), options) for name in (BEFORE, AFTER))
    is_complete = (kind == "insert" or before is not None) and (kind == "delete" or after is not None)
    namespace = event["ns"]["db"], event["ns"]["coll"]
    notes_sign_in = event.get(NOTES_SIGN_IN, False)
    return RecordChange(namespace, event["documentKey"]["_id"], before, after, is_complete, notes_sign_in)


def _read_image(image: Any, options: CodecOptions[Document]) -> Any:
    return Encoded(bytes(image.raw), options) if isinstance(image, RawBSONDocument) else image


def decode_image(image: Image) -> Document | None:
    """None where there is no record, and of one that is LARGE."""
    if isinstance(image, Encoded):
        return image.decode()
    return image if isinstance(image, dict) else None
