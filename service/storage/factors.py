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
from service.storage.sign_in_ways import another_way
from service.storage.users import PROFILE, STANDING, User, read_user

USERS = "users"
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


@dataclass(frozen=True, slots=True)
class Owner:
    """A user whose factors are read, used or changed."""

    user: User
    state: AccountState


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
    """Whether no code of that step, or of a later one, was used before (RFC 6238 section 5.2)."""
    match: Document = {"_id": user_id, "totp.id": totp.id, "totp.step": {"$lt": step}}
    changes: Document = {"$set": {"totp.step": step, "totp.last_used_at": moment}}
    return await database.records(USERS).update_one(match, changes)


async def use_recovery_code(database: ProjectDatabase, user_id: str, digest: str) -> bool:
    """Whether it was one of the user's that are left."""
    return await database.records(USERS).update_one(
        {"_id": user_id, "recovery": digest}, {"$pull": {"recovery": digest}}
    )


async def add_totp(
    database: ProjectDatabase, user_id: str, factor: Factor, *, sealed: str, step: int, recovery: Sequence[str] | None
) -> None:
    """Within a transaction that found none. `recovery` has the digests of codes where they are new."""
    totp: Document = {
        "id": factor.id,
        "name": factor.name,
        "sealed": sealed,
        "step": step,
        "created_at": factor.created_at,
        "last_used_at": factor.last_used_at,
    }
    fields: Document = {"totp": totp} | ({"recovery": list(recovery)} if recovery is not None else {})
    await database.records(USERS).update_one({"_id": user_id}, {"$set": fields})


async def replace_recovery(database: ProjectDatabase, user_id: str, digests: Sequence[str]) -> None:
    await database.records(USERS).update_one({"_id": user_id}, {"$set": {"recovery": list(digests)}})


async def list_factors(database: ProjectDatabase, user_id: str) -> Sequence[Factor]:
    fields = {f"{kind}.{name}": 1 for kind in ("totp", "passkeys") for name in (*SHOWN, "factor_id")}
    record = await database.records(USERS).find({"_id": user_id}, fields)
    return read_listed(record or {})


def read_listed(record: Document) -> Sequence[Factor]:
    """The factors that a record has, in the order in which they were added."""
    totp = record.get("totp")
    found = [] if totp is None else [_read(totp, TOTP)]
    found += [_read({**each, "id": each["factor_id"]}, PASSKEY) for each in record.get("passkeys", ())]
    return sorted(found, key=lambda factor: factor.created_at)


async def rename_factor(database: ProjectDatabase, user_id: str, factor_id: str, name: str) -> bool:
    """Whether the user has such a factor."""
    users = database.records(USERS)
    return await users.update_one(
        {"_id": user_id, "totp.id": factor_id}, {"$set": {"totp.name": name}}
    ) or await users.update_one({"_id": user_id, "passkeys.factor_id": factor_id}, {"$set": {"passkeys.$.name": name}})


async def remove_factor(database: ProjectDatabase, user_id: str, factor: Factor) -> bool:
    """Whether the user can sign in without it. Within a transaction that found it; recovery codes go with the last one."""
    users = database.records(USERS)
    if factor.type == TOTP:
        removed = await users.update_one({"_id": user_id, "totp.id": factor.id}, {"$unset": {"totp": ""}})
    else:
        part: Document = {"factor_id": factor.id}
        match = {"_id": user_id, **another_way(passkey=part)}
        removed = await users.update_one(match, {"$pull": {"passkeys": part}})
        await users.update_one({"_id": user_id, "passkeys": []}, {"$unset": {"passkeys": ""}})
    if removed:
        without: Document = {"_id": user_id, "totp": {"$exists": False}, "passkeys.0": {"$exists": False}}
        await users.update_one(without, {"$unset": {"recovery": ""}})
    return removed


async def remove_factors(database: ProjectDatabase, user_id: str) -> bool:
    """All of a user's, and the recovery codes. Whether there is such a user."""
    fields = dict.fromkeys(("totp", "passkeys", "recovery"), "")
    return await database.records(USERS).update_one({"_id": user_id}, {"$unset": fields})


def _read(part: Document, type_: str) -> Factor:
    return Factor(part["id"], type_, part["name"], part["created_at"], part.get("last_used_at"))
