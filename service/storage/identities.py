"""Whom a sign-in through an identity provider may lead to."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.storage.account_states import NEW_ACCOUNT, AccountState, read_state
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.users import FIRST_VERSION, STATE, Identity, identity_document


@dataclass(frozen=True, slots=True)
class ExistingUser:
    """A user whom a sign-in may lead to; `oauth_id` is None for one who registered with a password."""

    id: str
    oauth_id: str | None
    version: int = FIRST_VERSION
    has_identity: bool = True
    state: AccountState = NEW_ACCOUNT


@dataclass(frozen=True, slots=True)
class SignInMatch:
    """The user who has an identity, and the one who has an e-mail address; most likely the same, or nobody."""

    by_subject: ExistingUser | None
    by_email: ExistingUser | None


class Identities:
    """The identities of one project's users. Raises the errors of `records.translated`."""

    __slots__ = ("_records",)

    def __init__(self, database: ProjectDatabase) -> None:
        self._records = database.records("users")

    async def find(self, identity: Identity, email: str, *, with_older: bool = True) -> SignInMatch:
        """In one round trip. `with_older` a user from before there were identities is found by the subject alone."""
        known = {"identities": {"$elemMatch": {"issuer": identity.issuer, "subject": identity.subject}}}
        older = {"oauth_id": identity.subject, "identities": {"$exists": False}}
        fields = {"email": 1, "oauth_id": 1, "token_version": 1, "identities": 1, **STATE}
        stages: list[Document] = [
            {"$match": {"$or": [known, *([older] if with_older else []), {"email": email}]}},
            {"$project": fields},
        ]
        rows = await self._records.aggregate(stages, size=3)
        mine = {"issuer": identity.issuer, "subject": identity.subject}
        by_identity = [row for row in rows if mine in row.get("identities", ())]
        older_rows = [row for row in rows if with_older and "identities" not in row]
        by_subject = [row for row in older_rows if row.get("oauth_id") == identity.subject]
        return SignInMatch(
            by_subject=_first_known([*by_identity, *by_subject]),
            by_email=_first_known([row for row in rows if row["email"] == email]),
        )

    async def add_first(self, user_id: str, identity: Identity) -> None:
        """Unless the user has one. Raises DuplicateValue where somebody else has it."""
        match = {"_id": user_id, "identities": {"$exists": False}}
        await self._records.update_one(match, {"$set": {"identities": [identity_document(identity)]}})

    async def join(self, user: ExistingUser, identity: Identity, email: str) -> bool:
        """Whether `user` is still as it was found, with a proven address and no second factor, and has the identity now.

        Raises DuplicateValue where somebody else has it.
        """
        match: Document = {
            "_id": user.id,
            "email": email,
            "email_verified": True,
            "token_version": user.version,
            "oauth_id": {"$exists": False},
            "disabled": {"$ne": True},
            "totp": {"$exists": False},
            "passkeys": {"$exists": False},
        }
        changes: Document = {
            "$set": {"oauth_id": identity.subject},
            "$push": {"identities": identity_document(identity)},
            "$inc": {"version": 1},
        }
        return await self._records.update_one(match, changes)


def _first_known(rows: Sequence[Document]) -> ExistingUser | None:
    if not rows:
        return None
    row = rows[0]
    return ExistingUser(row["_id"], row.get("oauth_id"), row["token_version"], "identities" in row, read_state(row))
