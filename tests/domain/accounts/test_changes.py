"""The one way to change an account: every part of a change leaves its event, and all of it happens or nothing."""

import asyncio
from dataclasses import fields
from typing import Any

import pytest

from service.domain.accounts.changes import SERVER, Author, Changes
from service.domain.mail_flows.mailbox import read_messages
from service.errors import EmailInUse, InvalidCode, UserNotFound
from service.passkeys.answers import Passkey
from service.schema.values import now
from service.services import Services
from service.storage.account_states import PASSKEY, TOTP
from service.storage.accounts import Account, AccountChange, AddedPasskey, AddedTotp
from service.storage.databases import ProjectDatabase
from service.storage.factors import Factor
from service.storage.users import Identity
from tests.conftest import Api

HASH = "$2b$04$abcdefghijklmnopqrstuu"
APP, KEY = Factor("a", TOTP, "phone", now()), Factor("k", PASSKEY, "key", now())
GOOGLE = Identity("https://issuer.example", "sub-ann", "google", "ann@example.com")
WITH_APP = AccountChange(added_factor=AddedTotp(APP, "sealed", 1), recovery=["x"])
# Field → what comes before, the change, and the types of its events.
Example = tuple[AccountChange | None, AccountChange, list[str]]
EXAMPLES: dict[str, Example] = {
    "data": (None, AccountChange(data={"name": "Ann"}), []),
    "password": (None, AccountChange(password=HASH), ["password_changed"]),
    "email": (None, AccountChange(email="b@example.com"), ["email_changed"]),
    "email_verified": (None, AccountChange(email_verified=True), ["email_verified"]),
    "disabled": (None, AccountChange(disabled=True), ["user_disabled"]),
    "claims": (None, AccountChange(claims={"plan": "pro"}), ["claims_changed"]),
    "roles": (None, AccountChange(roles=["editor"]), ["roles_changed"]),
    "added_factor": (
        None,
        AccountChange(added_factor=AddedPasskey(KEY, Passkey(b"id", b"key", 0, is_syncable=False))),
        ["factor_added"],
    ),
    "removed_factors": (WITH_APP, AccountChange(removed_factors=[APP]), ["factor_removed"]),
    "recovery": (WITH_APP, AccountChange(recovery=["y"]), ["recovery_codes_made"]),
    "added_identity": (None, AccountChange(added_identity=GOOGLE), ["identity_linked"]),
    "signs_in": (None, AccountChange(added_identity=GOOGLE, signs_in=True), ["identity_linked"]),
    "removed_identities": (
        AccountChange(added_identity=GOOGLE),
        AccountChange(removed_identities=[GOOGLE]),
        ["identity_removed"],
    ),
    "ends_sessions": (None, AccountChange(ends_sessions=True), ["sessions_ended"]),
}


@pytest.fixture
def changes(services: Services) -> Changes:
    return Changes(services.access, services.flows)


async def _ann(api: Api) -> str:
    return str((await api.signup()).json()["user"]["id"])


def _types(api: Api) -> list[str]:
    return [each["type"] for each in api.database["events"].find({"type": {"$ne": "signed_in"}}).sort("at")]


def test_v27_every_part_of_a_change_has_its_example_here() -> None:
    assert {each.name for each in fields(AccountChange)} == EXAMPLES.keys()


@pytest.mark.parametrize("part", EXAMPLES)
async def test_v27_each_part_of_a_change_leaves_its_event(api: Api, changes: Changes, part: str) -> None:
    user_id = await _ann(api)
    before, change, expected = EXAMPLES[part]
    if before is not None:
        await changes.apply(api.project, user_id, before, SERVER)
        api.database["events"].delete_many({})
    await changes.apply(api.project, user_id, change, SERVER)
    assert _types(api) == expected
    # The same once more changes nothing, and so leaves no event; sessions end each time.
    if part not in {"added_factor", "added_identity", "signs_in"}:
        await changes.apply(api.project, user_id, change, SERVER)
        assert _types(api) == expected * (2 if part == "ends_sessions" else 1)


async def test_what_is_refused_in_the_transaction_leaves_nothing(
    api: Api, changes: Changes, services: Services
) -> None:
    user_id = await _ann(api)
    await api.signup("bob@example.com")
    stored: Any = api.database["users"].find_one({"_id": user_id}, {"last_sign_in_at": 0})

    async def refuse(_: ProjectDatabase) -> None:
        raise InvalidCode

    def forbid(_: Account) -> AccountChange:
        raise EmailInUse

    author, wanted = Author(), AccountChange(password=HASH, email="c@example.com")
    with pytest.raises(InvalidCode):
        await changes.apply(api.project, user_id, wanted, author, notice="password_changed", first=refuse)
    with pytest.raises(EmailInUse):
        await changes.apply(api.project, user_id, forbid, author, notice="password_changed")
    with pytest.raises(UserNotFound):
        await changes.apply(api.project, "0" * 24, wanted, author)
    assert api.database["users"].find_one({"_id": user_id}, {"last_sign_in_at": 0}) == stored
    assert _types(api) == []
    assert await read_messages(services.flows, api.project.id) == []


async def test_of_two_changes_at_once_both_are_made(api: Api, changes: Changes) -> None:
    user_id = await _ann(api)
    wanted = [AccountChange(claims={"n": number}) for number in range(5)]
    await asyncio.gather(*(changes.apply(api.project, user_id, each, SERVER) for each in wanted))
    assert _types(api) == ["claims_changed"] * 5
    stored: Any = api.database["users"].find_one({"_id": user_id}, {"last_sign_in_at": 0})
    assert (stored["claims"]["n"] in range(5), stored["version"]) == (True, 6)
