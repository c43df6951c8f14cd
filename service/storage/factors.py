"""The second factors of users, beside `data`, where neither bodies nor queries reach.

`totp`: {id, name, sealed, step, created_at, last_used_at}; `recovery`: SHA-256 of each recovery code that is left. A proof is
spent by the one command that its filter lets change something, so of any number at once one is good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from service.storage.account_states import PASSKEY, TOTP, AccountState, read_state
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.records import Projection
from service.storage.users import PROFILE, STANDING, Owner, read_user

USERS = "users"
UNKNOWN = datetime(1970, 1, 1)  # noqa: DTZ001 - as MongoDB gives times
# No secret is read to show factors.
SHOWN: Projection = dict.fromkeys(("id", "name", "created_at", "last_used_at"), 1)


@dataclass(frozen=True, slots=True)
class Factor:
    """A second factor as its user sees it. `type` is TOTP, or that of another kind."""

    id: str
    type: str
    name: str
    created_at: datetime
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredTotp:
    """A secret, sealed, and the last time step of which a code was used."""

    id: str
    sealed: str = field(repr=False)
    step: int


async def find_owner(database: ProjectDatabase, user_id: str) -> Owner | None:
    record = await database.records(USERS).find({"_id": user_id}, {**PROFILE, **STANDING})
    return None if record is None else Owner(read_user(database, record), read_state(record))


async def find_state(database: ProjectDatabase, user_id: str) -> AccountState | None:
    record = await database.records(USERS).find({"_id": user_id}, STANDING)
    return None if record is None else read_state(record)


async def find_totp(database: ProjectDatabase, user_id: str) -> StoredTotp | None:
    record = await database.records(USERS).find({"_id": user_id}, {"totp": 1})
    totp = (record or {}).get("totp")
    return None if totp is None else StoredTotp(totp["id"], totp["sealed"], totp["step"])


async def use_totp(database: ProjectDatabase, user_id: str, totp: StoredTotp, step: int, moment: datetime) -> bool:
    """Uses the code of `step`. False if one of that step, or of a later one, was used before (RFC 6238 section 5.2)."""
    match: Document = {"_id": user_id, "totp.id": totp.id, "totp.step": {"$lt": step}}
    changes: Document = {"$set": {"totp.step": step, "totp.last_used_at": moment}}
    return await database.records(USERS).update_one(match, changes)


async def use_recovery_code(database: ProjectDatabase, user_id: str, digest: str) -> bool:
    """Removes the code. False if it was not one of the user's unused codes."""
    return await database.records(USERS).update_one(
        {"_id": user_id, "recovery": digest}, {"$pull": {"recovery": digest}}
    )


async def list_factors(database: ProjectDatabase, user_id: str) -> Sequence[Factor]:
    fields = {f"{kind}.{name}": 1 for kind in ("totp", "passkeys") for name in (*SHOWN, "factor_id")}
    record = await database.records(USERS).find({"_id": user_id}, fields)
    return read_listed(record or {})


def read_listed(record: Document) -> Sequence[Factor]:
    """The factors that a record has, in the order in which they were added."""
    totp = record.get("totp")
    found = [] if totp is None else [_read(totp, TOTP)]
    found += [_read({**each, "id": each.get("factor_id", "")}, PASSKEY) for each in record.get("passkeys", ())]
    return sorted(found, key=lambda factor: factor.created_at)


async def rename_factor(database: ProjectDatabase, user_id: str, factor_id: str, name: str) -> bool:
    """Returns False if the user has no such factor."""
    users = database.records(USERS)
    return await users.update_one(
        {"_id": user_id, "totp.id": factor_id}, {"$set": {"totp.name": name}}
    ) or await users.update_one({"_id": user_id, "passkeys.factor_id": factor_id}, {"$set": {"passkeys.$.name": name}})


def totp_document(factor: Factor, sealed: str, step: int) -> Document:
    """The secret is sealed; a code of `step` is used already."""
    return {
        "id": factor.id,
        "name": factor.name,
        "sealed": sealed,
        "step": step,
        "created_at": factor.created_at,
        "last_used_at": factor.last_used_at,
    }


def _read(part: Document, type_: str) -> Factor:
    """Another program may have written less than this one does."""
    name, made = part.get("name", ""), part.get("created_at", UNKNOWN)
    return Factor(part.get("id", ""), type_, name, made, part.get("last_used_at"))
