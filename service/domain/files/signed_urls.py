"""Signed URLs of files: `<url>?expires=<seconds since 1970>&signature=<43 characters>`. Pure but for the clock.

A signature is of a file in its own place, the record and the field that it was uploaded to. So a URL shown in any other
place, which a user may choose freely, opens nothing.
"""

import base64
import hmac
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from service.storage.files.stored import StoredFile

EXPIRES, SIGNATURE, VARIANT = "expires", "signature", "variant"
_EXPIRES = re.compile(r"[1-9][0-9]{0,11}")


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file, and which record it belongs to, in which field of `data`: a user, or a document of `collection`."""

    project_id: str
    name: str
    owner: str
    field: str
    collection: str = ""


@dataclass(frozen=True, slots=True)
class FileLink:
    """The parameters of a file's URL; each may be missing or forged."""

    expires: str = ""
    signature: str = ""
    variant: str = ""


def place_of(project_id: str, file: StoredFile) -> FilePlace:
    return FilePlace(project_id, file.name, file.owner, file.field, file.collection)


class UrlSigner:
    """Signs with `key`. `window` is for how many seconds the URLs that answers show stay equal, so that caches hold them."""

    def __init__(self, key: bytes, *, window: int, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._window = window
        self._clock = clock

    def sign(self, place: FilePlace, seconds: int | None = None, variant: str = "") -> str:
        """The query of a URL that is good for so many seconds; without them, up to the end of the next window.

        It opens the file and its variants; with a `variant`, only that.
        """
        expires = str(self._end_of_next_window() if seconds is None else int(self._clock()) + seconds)
        more = f"&{VARIANT}={variant}" if variant else ""
        return f"?{EXPIRES}={expires}&{SIGNATURE}={self._signature(place, expires, variant)}{more}"

    def seconds_left(self, place: FilePlace, link: FileLink) -> int:
        """The whole seconds for which the link still opens the file; 0 if it does not, or no longer."""
        if not _EXPIRES.fullmatch(link.expires):
            return 0
        sent = link.signature.encode("utf-8", "replace")
        known = {self._signature(place, link.expires, variant).encode() for variant in ("", link.variant)}
        if not any(hmac.compare_digest(expected, sent) for expected in known):
            return 0
        return max(0, int(link.expires) - int(self._clock()))

    def _end_of_next_window(self) -> int:
        return (int(self._clock()) // self._window + 2) * self._window

    def _signature(self, place: FilePlace, expires: str, variant: str = "") -> str:
        # Only documents have variants, so nothing that is signed can be read in two ways.
        more = [place.collection, variant] if variant else [place.collection] if place.collection else []
        signed = [place.project_id, place.name, place.owner, place.field, *more, expires]
        return base64.urlsafe_b64encode(hmac.digest(self._key, orjson.dumps(signed), "sha256")).rstrip(b"=").decode()
