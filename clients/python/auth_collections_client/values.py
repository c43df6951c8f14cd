"""The values that applications and generated types name: references to collections, times, ids, files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Generic, NotRequired, TypeAlias, TypedDict
from urllib.parse import quote

from auth_collections_client._generics import D, N, W

Id: TypeAlias = str
Time: TypeAlias = str
FileUrl: TypeAlias = str
TimeInput: TypeAlias = str | datetime
Scalar: TypeAlias = str | int | float | bool
# A profile may have fields that no schema declares, so its conditions are open.
UserKeys: TypeAlias = Mapping[str, Any]
UserWhere: TypeAlias = Mapping[str, Any]


class CollectionRef(Generic[D, N, W]):
    """The name of a collection with the types of its rows, of new rows and of its conditions."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"CollectionRef({self.name!r})"


class Related(TypedDict, Generic[D]):
    """A populated relation; `email` is there for users."""

    id: Id
    data: D
    email: NotRequired[str]


@dataclass(frozen=True, slots=True)
class File:
    """A file to upload: its content is bytes, a seekable binary file, or a path."""

    name: str
    content: bytes | BinaryIO | Path = field(repr=False)


Upload: TypeAlias = File | str


def raw(conditions: Mapping[str, Any]) -> Any:
    """Passes a `where` that the generated types cannot express, such as dotted keys, unchecked."""
    return dict(conditions)


def variant(url: str, name: str) -> str:
    """Returns the URL of an image's variant."""
    return f"{url}{'&' if '?' in url else '?'}variant={quote(name, safe='')}"
