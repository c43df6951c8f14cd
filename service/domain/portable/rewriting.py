"""The changes that a restore makes to documents: one raw BSON document in, one out. Pure, but for secrets of users.

Under the id that a project had, versions rise, so that no ETag of before matches a record. Under another id, files have
names of that id, and the secrets of authenticator apps are sealed for it.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from service.domain.projects.secrets import SecretBox, place_of_totp
from service.errors import ConfigurationError
from service.storage.bson_stream import change_document
from service.storage.client import Document
from service.storage.files.stored import CHUNKS, FILES
from service.storage.layout import DOCUMENTS, USERS

# No ETag of before the restore matches a record afterwards.
RAISED_BY = 1_000_000
RANDOM_PART = r"-[0-9a-f]{32}\.[a-z]{3,4}"
Rewrite = Callable[[bytes], bytes]
Change = Callable[[Document], Document]
# The change of the documents of a MongoDB collection, given its fields that hold files.
Rewriting = Callable[[str, Iterable[str]], Rewrite]


def keep(document: bytes) -> bytes:
    """The document as it is."""
    return document


def raise_versions(collection: str, _: Iterable[str]) -> Rewrite:
    """The rewriting of a project that is restored under its id. Tokens from before there were sessions end as well."""
    if collection == USERS:
        return partial(change_document, change=_raise_user)
    return partial(change_document, change=_raise) if collection.startswith(DOCUMENTS) else keep


def _raise(document: Document) -> Document:
    return {**document, "version": _count(document, "version") + RAISED_BY}


def _raise_user(document: Document) -> Document:
    return {**_raise(document), "token_version": _count(document, "token_version") + 1}


def _count(document: Document, name: str) -> int:
    """Raises ValueError."""
    value = document.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"have a document whose {name} is no whole number")
    return value


class OtherId:
    """The rewriting of a project that is restored under another id."""

    def __init__(self, source_id: str, target_id: str, box: SecretBox) -> None:
        self._source_id = source_id
        self._target_id = target_id
        self._box = box
        self._name = re.compile(re.escape(source_id) + f"({RANDOM_PART})")

    def __call__(self, collection: str, fields: Iterable[str]) -> Rewrite:
        changes: dict[str, Change] = {
            FILES: partial(self._rename, names=("_id", "filename")),
            CHUNKS: partial(self._rename, names=("files_id",)),
            USERS: self._change_user,
        }
        if collection in changes:
            return partial(change_document, change=changes[collection])
        names = frozenset(fields)
        return partial(change_document, change=partial(self._rename_data, names=names)) if names else keep

    def _rename(self, document: Document, names: Iterable[str]) -> Document:
        return {**document, **{name: self._rename_value(document[name]) for name in names if name in document}}

    def _rename_data(self, document: Document, names: Iterable[str]) -> Document:
        return {**document, "data": self._rename(dict(document["data"]), names)} if "data" in document else document

    def _rename_value(self, value: Any) -> Any:
        if isinstance(value, str):
            found = self._name.fullmatch(value)
            return self._target_id + found[1] if found else value
        return [self._rename_value(each) for each in value] if isinstance(value, list) else value

    def _change_user(self, document: Document) -> Document:
        """Names of files stand in `files` and once more in `data`."""
        if files := dict(document.get("files") or {}):
            document = {**self._rename_data(document, files), "files": self._rename(files, files)}
        return {**document, "totp": self._seal_again(dict(document["totp"]))} if document.get("totp") else document

    def _seal_again(self, totp: Document) -> Document:
        """The same where SECRET_KEY does not open it: that factor cannot be checked, and lets no user in."""
        try:
            secret = self._box.open(totp["sealed"], place_of_totp(self._source_id, totp["id"]))
        except (ConfigurationError, ValueError, TypeError, KeyError):
            return totp
        return {**totp, "sealed": self._box.seal(secret, place_of_totp(self._target_id, totp["id"]))}
