"""The identities of users at providers: whom a sign-in may lead to, and what belongs to whom."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from service.bounds import MAX_IDENTITIES
from service.schema.values import now
from service.storage.account_states import NEW_ACCOUNT, AccountState, read_state
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.users import FIRST_VERSION, STANDING, Identity, identity_document

ID_LETTERS = 24


@dataclass(frozen=True, slots=True)
class ExistingUser:
    """A user that a sign-in may lead to; `oauth_id` is None for a user who registered with a password."""

    id: str
    oauth_id: str | None
    version: int = FIRST_VERSION
    has_identity: bool = True
    state: AccountState = NEW_ACCOUNT


@dataclass(frozen=True, slots=True)
class SignInMatch:
    """The user that has an identity, and the one that has an e-mail address; mostly the same, or none."""

    by_subject: ExistingUser | None
    by_email: ExistingUser | None


@dataclass(frozen=True, slots=True)
class OwnIdentity:
    """An identity as its user sees it. An identity that was not used for long has fewer fields."""

    id: str
    identity: Identity
    created_at: datetime | None
    last_used_at: datetime | None


class Identities:
    """The identities of one project's users. Raises the errors of `records.translated`."""

    __slots__ = ("_records",)

    def __init__(self, database: ProjectDatabase) -> None:
        self._records = database.records("users")

    async def find(self, identity: Identity, email: str, *, with_older: bool = True) -> SignInMatch:
        """In one round trip. `with_older` a user from before there were identities is found by the subject alone."""
        known = {"identities": {"$elemMatch": _key(identity)}}
        # A user that has an identity with this subject has it at another issuer.
        older = {"oauth_id": identity.subject, "identities.subject": {"$ne": identity.subject}}
        fields = {"email": 1, "oauth_id": 1, "token_version": 1, "identities": 1, **STANDING}
        stages: list[Document] = [
            {"$match": {"$or": [known, *([older] if with_older else []), {"email": email}]}},
            {"$project": fields},
        ]
        rows = await self._records.aggregate(stages, size=3)
        by_identity = [row for row in rows if _has(row, identity)]
        by_subject = [row for row in rows if with_older and _is_older(row, identity.subject)]
        return SignInMatch(
            by_subject=_first_known([*by_identity, *by_subject], identity),
            by_email=_first_known([row for row in rows if row.get("email") == email], identity),
        )

    async def list_of(self, user_id: str) -> Sequence[OwnIdentity]:
        """In the order in which they were added."""
        record = await self._records.find({"_id": user_id}, {"identities": 1})
        return [read_identity(each) for each in (record or {}).get("identities", ())]

    async def add(self, user_id: str, identity: Identity, *, used: datetime | None = None) -> bool:
        """Adds the identity. False if the user has it already, or has as many as allowed.

        Raises DuplicateValue if another user has it.
        """
        match: Document = {
            "_id": user_id,
            "identities": {"$not": {"$elemMatch": _key(identity)}},
            f"identities.{MAX_IDENTITIES - 1}": {"$exists": False},
        }
        new = identity_document(identity, now(), used=used)
        return await self._records.update_one(match, {"$push": {"identities": new}})

    async def use(self, user_id: str, identity: Identity) -> None:
        """Notes a sign-in by the identity, and the provider's present name and address for it."""
        said = {"provider": identity.provider, "email": identity.email, "last_used_at": now()}
        changes = {f"identities.$.{name}": value for name, value in said.items()}
        match = {"_id": user_id, "identities": {"$elemMatch": _key(identity)}}
        await self._records.update_one(match, {"$set": changes})


def _key(identity: Identity) -> Document:
    return {"issuer": identity.issuer, "subject": identity.subject}


def _has(row: Document, identity: Identity) -> bool:
    mine = _key(identity).items()
    return any(mine <= each.items() for each in row.get("identities", ()))


def _is_older(row: Document, subject: str) -> bool:
    known = [each["subject"] for each in row.get("identities", ())]
    return row.get("oauth_id") == subject and subject not in known


def _first_known(rows: Sequence[Document], identity: Identity) -> ExistingUser | None:
    if not rows:
        return None
    row = rows[0]
    has_identity = _has(row, identity)
    return ExistingUser(row["_id"], row.get("oauth_id"), row["token_version"], has_identity, read_state(row))


def read_identity(each: Document) -> OwnIdentity:
    identity = Identity(each["issuer"], each["subject"], each.get("provider"), each.get("email"))
    # The subject stays secret, and the id derived from it stays the same.
    id_ = hashlib.sha256(f"{identity.issuer}\n{identity.subject}".encode()).hexdigest()[:ID_LETTERS]
    return OwnIdentity(id_, identity, each.get("created_at"), each.get("last_used_at"))
