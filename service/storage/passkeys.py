"""The passkeys of users, beside `data`, where neither bodies nor queries reach.

`webauthn_id`: random bytes by which devices know the user; `passkeys`: [{id, factor_id, name, key, counter, syncable,
created_at, last_used_at}]. `id` is the device's name for the passkey, base64url; no two users have one with the same.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from service.passkeys.answers import Passkey, Use
from service.passkeys.options import decode, encode
from service.storage.account_states import AccountState, read_state
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.factors import Factor
from service.storage.records import Projection
from service.storage.users import PROFILE, STANDING, StoredUser, read_user

USERS = "users"
HANDLE_BYTES = 32
# A projection may not name a field and a part of it.
HOLDER: Projection = {
    **PROFILE,
    **{name: 1 for name in STANDING if name != "passkeys.id"},
    "webauthn_id": 1,
    "passkeys": 1,
}


@dataclass(frozen=True, slots=True)
class PasskeyHolder:
    """The user who has a passkey."""

    user: StoredUser
    state: AccountState
    handle: bytes = field(repr=False)
    passkey: Passkey


async def name_user(database: ProjectDatabase, user_id: str) -> bytes | None:
    """The user's handle, made at first; None where there is no such user."""
    made = {"$ifNull": ["$webauthn_id", secrets.token_bytes(HANDLE_BYTES)]}
    record = await database.records(USERS).update(
        {"_id": user_id}, [{"$set": {"webauthn_id": made}}], {"webauthn_id": 1}
    )
    return None if record is None else bytes(record["webauthn_id"])


async def list_passkeys(database: ProjectDatabase, user_id: str) -> Sequence[Passkey]:
    record = await database.records(USERS).find({"_id": user_id}, {"passkeys": 1})
    return [_read(each) for each in (record or {}).get("passkeys", ())]


async def find_holder(database: ProjectDatabase, credential_id: bytes) -> PasskeyHolder | None:
    name = encode(credential_id)
    record = await database.records(USERS).find({"passkeys.id": name}, HOLDER)
    if record is None:
        return None
    found = next(each for each in record["passkeys"] if each["id"] == name)
    return PasskeyHolder(read_user(database, record), read_state(record), bytes(record["webauthn_id"]), _read(found))


async def use_passkey(database: ProjectDatabase, user_id: str, passkey: Passkey, use: Use, moment: datetime) -> bool:
    """Notes a use.

    False if the user lost the passkey, or the stored counter is not lower, if this authenticator counts.
    """
    wanted: Document = {"id": encode(passkey.credential_id)}
    if use.is_counting:
        wanted["counter"] = {"$lt": use.counter} if use.counter else 0
    changes: Document = {"$set": {"passkeys.$.counter": use.counter, "passkeys.$.last_used_at": moment}}
    return await database.records(USERS).update_one({"_id": user_id, "passkeys": {"$elemMatch": wanted}}, changes)


def passkey_document(factor: Factor, passkey: Passkey) -> Document:
    return {
        "id": encode(passkey.credential_id),
        "factor_id": factor.id,
        "name": factor.name,
        "key": passkey.public_key,
        "counter": passkey.counter,
        "syncable": passkey.is_syncable,
        "created_at": factor.created_at,
        "last_used_at": factor.last_used_at,
    }


def _read(part: Document) -> Passkey:
    return Passkey(decode(part["id"]), bytes(part["key"]), part["counter"], part["syncable"])
