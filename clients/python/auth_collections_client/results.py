"""The results of calls. Unknown fields of an answer are ignored, so that a newer service serves an older client."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal

from auth_collections_client._generics import D, T, U
from auth_collections_client.values import Id, Time


@dataclass(frozen=True, slots=True)
class Document(Generic[D]):
    """One document. A caller who may not read what was written gets its `id` alone; `data` is then None.

    `counts` is there with `with_counts`; 1001 stands for more than 1,000.
    """

    id: Id
    data: D
    created_at: Time
    updated_at: Time
    version: int
    counts: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class UserRecord(Generic[U]):
    """One user. A field that the caller may not see is None; `version` is there for the signed-in user's own record."""

    id: Id
    email: str | None
    data: U
    created_at: Time
    updated_at: Time | None = None
    email_verified: bool | None = None
    roles: Sequence[str] | None = None
    disabled: bool | None = None
    claims: Mapping[str, Any] | None = None
    last_sign_in_at: Time | None = None
    version: int | None = None
    anonymous: bool | None = None
    counts: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list. `next` is the cursor of the following page; `total` is None where it was not counted."""

    documents: list[T]
    total: int | None
    limit: int
    offset: int | None = None
    next: str | None = None
    total_is: str | None = None


@dataclass(frozen=True, slots=True)
class UsersPage(Generic[T]):
    """One page of users; the fields are those of `Page`."""

    users: list[T]
    total: int | None
    limit: int
    offset: int | None = None
    next: str | None = None
    total_is: str | None = None


@dataclass(frozen=True, slots=True)
class SignedIn(Generic[U]):
    """The sign-in is complete. `recovery_codes` come once, with a first second factor."""

    user: UserRecord[U]
    flow_id: str | None = None
    factor: Mapping[str, Any] | None = None
    recovery_codes: Sequence[str] | None = None
    next: Literal[None] = None


@dataclass(frozen=True, slots=True)
class FactorNeeded:
    """The account has a second factor: `login_factor(flow_id, proof)` goes on."""

    flow_id: str
    methods: Sequence[str]
    next: Literal["factor"] = "factor"


@dataclass(frozen=True, slots=True)
class EnrolmentNeeded:
    """The account must get a second factor first: `add_totp(flow_id=...)` goes on."""

    flow_id: str
    next: Literal["enrol"] = "enrol"


@dataclass(frozen=True, slots=True)
class MailSent:
    """A mail may be under way. `verifier` belongs to a link that returns to the application."""

    flow_id: str
    expires_in: float | None = None
    verifier: str | None = None
    next: Literal["mail"] = "mail"


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[D]):
    """All documents of a live window, in its order."""

    documents: list[Document[D]]


@dataclass(frozen=True, slots=True)
class Change(Generic[D]):
    """A change of a live window. `document` is None where it left."""

    op: Literal["enter", "change", "leave"]
    document: Document[D] | None
    document_id: Id


def _same(value: Any) -> Any:
    return value


def read_document(answer: Mapping[str, Any], read: Callable[[Any], D] = _same) -> Document[D]:
    """Returns the document of an answer; `read` makes its data a model. Raises KeyError where it has no id."""
    stored = answer.get("data")
    data: Any = None if stored is None else read(stored)
    return Document(
        id=answer["id"],
        data=data,
        created_at=answer.get("created_at", ""),
        updated_at=answer.get("updated_at", ""),
        version=answer.get("version", 0),
        counts=answer.get("counts"),
    )


def read_user(answer: Mapping[str, Any], etag: str | None = None) -> UserRecord[Any]:
    """Returns the user of an answer; its version stands in the `ETag`. Raises KeyError where it has no id."""
    names = (
        "email",
        "data",
        "updated_at",
        "email_verified",
        "roles",
        "disabled",
        "claims",
        "last_sign_in_at",
        "anonymous",
        "counts",
    )
    known = {name: answer.get(name) for name in names}
    return UserRecord(**known, id=answer["id"], created_at=answer.get("created_at", ""), version=read_version(etag))


def read_version(etag: str | None) -> int | None:
    """Returns 17 for the tag `"v17"`, None for any other."""
    text = (etag or "").strip('"').removeprefix("v")
    return int(text) if text.isdecimal() else None


def page_parts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a page says beside its records."""
    return {name: answer.get(name) for name in ("total", "limit", "offset", "next", "total_is")}
