"""Writes of accounts, for `domain/accounts/changes` alone: there each write has its event and its consequences.

Each call is a part of a transaction that read the account.
"""

from dataclasses import dataclass, field

from bson import ObjectId

from service.schema.values import now
from service.storage.accounts import Account, AccountChange, AddedPasskey, AddedTotp
from service.storage.authors import BY, write_author
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.factors import totp_document
from service.storage.files.deletions import condemn_owned
from service.storage.layout import SESSIONS
from service.storage.passkeys import passkey_document
from service.storage.profiles import find_held, plan_data
from service.storage.users import identity_document

# The intent of files to remove after the commit.
Condemned = ObjectId | None
# A change of one of these changes what a reader of the record may see, and so its version.
SHOWN = ("email", "email_verified", "disabled", "claims", "roles")


@dataclass(frozen=True, slots=True)
class WrittenAccount:
    """The whole record afterwards, and the files that it no longer names."""

    record: Document
    condemned: Condemned


async def write_account(
    database: ProjectDatabase, before: Account, change: AccountChange, *, ends: bool
) -> WrittenAccount:
    """Raises DuplicateValue for an address or an identity of another account, TooLarge."""
    user_id, dropped = before.user.id, dict[str, str]()
    fields = {name: value for name in (*SHOWN, "password", "recovery") if (value := getattr(change, name)) is not None}
    writes = _Writes(fields)
    if fields.get("roles") == []:
        # A record has roles where the user has any.
        writes.unset["roles"] = ""
        del fields["roles"]
    if any(getattr(change, name) is not None for name in SHOWN):
        writes.inc["version"] = 1
    if change.email_verified is not None and before.state.email_asserted:
        writes.unset["email_asserted"] = ""
    if change.email is not None:
        fields["updated_at"] = now()
        _name_anonymous(before, change.email, writes)
    if change.data is not None:
        planned, dropped = await plan_data(database, before.stored, change.data)
        writes.inc["version"] = 1
        fields |= planned
    _plan_factors(before, change, writes)
    _plan_identities(before, change, writes)
    if ends:
        writes.inc["token_version"] = 1
        fields["ended"] = []
    record = await database.records("users").update({"_id": user_id}, writes.command()) or before.stored
    if ends:
        await database.records(SESSIONS).delete_many({"user_id": user_id})
    return WrittenAccount(record, await condemn_owned(database, user_id, dropped))


async def delete_account(database: ProjectDatabase, before: Account) -> Condemned:
    """Removes the record and the user's sessions, and condemns the files that the profile names."""
    user_id = before.user.id
    await database.records("users").delete({"_id": user_id})
    await database.records(SESSIONS).delete_many({"user_id": user_id})
    return await condemn_owned(database, user_id, await find_held(database, before.stored))


def _name_anonymous(before: Account, email: str, writes: "_Writes") -> None:
    """With an address an anonymous user has an account. The address matches no password."""
    if before.user.is_anonymous:
        writes.set.setdefault("password", before.password or email)
        writes.unset |= {"anonymous": "", "active_on": ""}


@dataclass(slots=True)
class _Writes:
    """The operators of one command."""

    set: Document
    inc: Document = field(default_factory=dict)
    push: Document = field(default_factory=dict)
    pull: Document = field(default_factory=dict)
    unset: Document = field(default_factory=dict)

    def command(self) -> Document:
        shown = {BY: write_author()} if "version" in self.inc else {}
        operators = {
            "$set": {**self.set, **shown},
            "$inc": self.inc,
            "$push": self.push,
            "$pull": self.pull,
            "$unset": self.unset,
        }
        return {operator: fields for operator, fields in operators.items() if fields}


def _plan_factors(before: Account, change: AccountChange, writes: _Writes) -> None:
    """Recovery codes go with the last factor, and an empty list of passkeys with the last passkey."""
    match change.added_factor:
        case AddedTotp(factor, sealed, step):
            writes.set["totp"] = totp_document(factor, sealed, step)
        case AddedPasskey(factor, passkey):
            writes.push["passkeys"] = passkey_document(factor, passkey)
    removed = {each.id for each in change.removed_factors}
    if not removed:
        return
    left = {each.type for each in before.factors if each.id not in removed}
    for type_, name in (("totp", "totp"), ("passkey", "passkeys")):
        if type_ not in left:
            writes.unset[name] = ""
        elif name == "passkeys":
            writes.pull[name] = {"factor_id": {"$in": sorted(removed)}}
    if not left:
        writes.unset["recovery"] = ""


def _plan_identities(before: Account, change: AccountChange, writes: _Writes) -> None:
    """`oauth_id` follows the first identity. The unique index would take two empty lists for the same identity."""
    if (added := change.added_identity) is not None:
        moment = now()
        writes.push["identities"] = identity_document(added, moment, used=moment if change.signs_in else None)
        if (
            added.email == (change.email or before.user.email)
            and not before.state.email_verified
            and change.email_verified is None
        ):
            writes.set |= {"email_verified": True, "email_asserted": True}
            writes.inc["version"] = 1
        if change.signs_in:
            writes.set["oauth_id"] = added.subject
    removed = change.removed_identities
    if not removed:
        return
    left = [each.identity for each in before.identities if not any(each.identity.is_same(gone) for gone in removed)]
    if left:
        writes.pull["identities"] = {"$or": [{"issuer": gone.issuer, "subject": gone.subject} for gone in removed]}
    else:
        writes.unset["identities"] = ""
    if before.subject in {gone.subject for gone in removed}:
        if left:
            writes.set["oauth_id"] = left[0].subject
        else:
            writes.unset["oauth_id"] = ""
