"""Sign-ins, sessions and the account through the client, in both colours, at a running service."""

import asyncio
import base64
import hmac
import struct
import time
from collections.abc import Mapping
from typing import Any

import pytest

from auth_collections_client import (
    Client,
    ConfigurationError,
    CredentialError,
    EnrolmentNeeded,
    FactorNeeded,
    MailSent,
    RequestError,
    SignedIn,
    memory,
)
from tests.served.clients.python.conftest import Make, Project
from tests.served.clients.python.wire import Wire, answer

PASSWORD = "correct horse"


def code_of(secret: str, step: int = 0) -> str:
    """The code of an authenticator app (RFC 6238)."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30 + step), "sha1")
    at = digest[-1] & 15
    return str((struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF) % 1_000_000).zfill(6)


async def test_a_session_lives_from_the_signup_to_the_logout(make: Make, name: str) -> None:
    user, heard = make("user"), []
    stop = user.auth.on_change(lambda event, session: heard.append((event, session and session["user_id"])))
    signed = await user.auth.signup(f"{name}@example.com", PASSWORD, city="Paris")
    assert isinstance(signed, SignedIn)
    profile = await user.auth.user()
    assert (profile.data, profile.version, (await user.auth.claims())["sub"]) == ({"city": "Paris"}, 1, profile.id)
    changed = await user.auth.update_user({"city": "Lyon"}, if_match=profile.version)
    assert (changed.data, changed.version) == ({"city": "Lyon"}, 2)
    before = await user.auth.session()
    assert (await user.auth.refresh())["access_token"] != before["access_token"]
    assert (await user.auth.step_up({"password": PASSWORD})).user.id == profile.id
    assert len(await user.auth.sessions()) == 1
    assert (await user.auth.change_password(PASSWORD, f"{PASSWORD} 2")).next is None
    await user.auth.logout()
    assert await user.auth.session() is None
    events = ["signed_in", "user_changed", "refreshed", "refreshed", "refreshed", "signed_out"]
    assert heard == [*[(event, profile.id) for event in events[:-1]], ("signed_out", None)]
    stop()
    assert (await user.auth.login(f"{name}@example.com", f"{PASSWORD} 2")).user.id == profile.id
    await user.auth.delete_user()
    assert (len(heard), await user.auth.session()) == (6, None)


async def test_a_second_factor_is_a_result_and_not_an_error(make: Make, name: str) -> None:
    user = make("user")
    await user.auth.signup(f"{name}@example.com", PASSWORD)
    app = await user.auth.add_totp("Phone")
    enrolled = await user.auth.confirm_totp(app["id"], code_of(app["secret"]))
    assert (len(enrolled.recovery_codes), enrolled.factor["name"]) == (10, "Phone")
    assert (await user.auth.factors())["factors"][0]["name"] == "Phone"
    assert (await user.auth.rename_factor(app["id"], "Old"))["name"] == "Old"
    other = make("user")
    needed = await other.auth.login(f"{name}@example.com", PASSWORD)
    assert isinstance(needed, FactorNeeded)
    assert needed.next == "factor"
    with pytest.raises(CredentialError, match="invalid_factor"):
        await other.auth.login_factor(needed.flow_id, {"recovery_code": "aaaaa-aaaaa"})
    used = {"recovery_code": enrolled.recovery_codes[0]}
    assert (await other.auth.login_factor(needed.flow_id, used)).user.email == f"{name}@example.com"
    await user.auth.remove_factor(app["id"])


async def test_a_mail_signs_in_and_resets_a_password(make: Make, name: str, project: Project) -> None:
    user, address = make("user"), f"{name}@example.com"
    user_id = (await user.auth.signup(address, PASSWORD)).user.id

    def made(purpose: str) -> dict[str, str]:
        """The proof that a mail for the purpose would carry."""
        with Client(project.url, project.secret) as server:
            link = server.admin.users.make_link(user_id, {"purpose": purpose})
        return {"flow_id": link["flow_id"], "code": link["code"]}

    for ask in (user.auth.verify_email, user.auth.forgot_password, user.auth.login_by_mail, user.auth.change_email):
        assert isinstance(await ask(f"{name}-new@example.com"), MailSent)
    assert await user.auth.confirm(made("verify_email")) == {"email_verified": True}
    other = make("user")
    signed = await other.auth.confirm(made("sign_in"))
    assert (signed.next, signed.user.email) == (None, address)
    assert await other.auth.reset_password({**made("reset_password"), "password": f"{PASSWORD} 2"}) is None
    assert (await other.auth.login(address, f"{PASSWORD} 2")).next is None


async def test_k15_a_redirect_is_completed_by_its_verifier_alone(make: Make) -> None:
    user = make("user")
    assert await user.auth.complete_redirect("https://app.example.com/in?x=1#svc-code=a", "v" * 43) is None
    assert await user.auth.complete_redirect("https://app.example.com/in?svc-super-token=planted", "v" * 43) is None
    assert await user.auth.session() is None
    for url, code in {
        "?svc-error=no_email_provided": "no_email_provided",
        "?svc-code=a&svc-code=b": "invalid_code",
    }.items():
        with pytest.raises(RequestError) as refused:
            await user.auth.complete_redirect(f"https://app.example.com/in{url}", "v" * 43)
        assert refused.value.code == code
    with pytest.raises(RequestError, match="invalid_code"):
        await user.auth.complete_redirect("https://app.example.com/in?svc-code=stolen", "v" * 43)


async def test_a_sign_in_needs_a_place_for_its_session(make: Make) -> None:
    wire = Wire()
    for client in (make("guest", wire=wire), make("guest", wire=wire).with_token("a.b.c")):
        with pytest.raises(ConfigurationError):
            await client.auth.login("ann@example.com", PASSWORD)
    assert wire.requests == []


async def test_one_refresh_serves_all_calls_and_nobody_is_signed_out(make: Make, name: str) -> None:
    wire = Wire()
    user = make("user", wire=wire)
    await user.auth.signup(f"{name}@example.com", PASSWORD)
    session = await user.auth.session()
    await user.auth.set_session({**session, "expires_at": time.time() - 86_400})
    await asyncio.gather(*(user.auth.user() for _ in range(20)))
    refreshes = [each for each in wire.requests if each.url.path.endswith("/refresh")]
    assert (len(refreshes), (await user.auth.session())["expires_at"] > time.time()) == (1, True)


async def test_k18_a_clock_that_is_a_day_off_refreshes_once(make: Make, name: str) -> None:
    """K18: `expires_at` counts by the own clock, so a refresh is followed by none."""
    wire = Wire()
    user = make("user", wire=wire)
    await user.auth.signup(f"{name}@example.com", PASSWORD)
    session = await user.auth.session()
    for shift in (-86_400, 86_400):
        wire.requests.clear()
        await user.auth.set_session({**session, **(await user.auth.session()), "expires_at": time.time() + shift})
        for _ in range(3):
            await user.auth.user()
        assert len([each for each in wire.requests if each.url.path.endswith("/refresh")]) == (1 if shift < 0 else 0)


async def test_a_dead_session_is_dropped_and_its_call_raises(make: Make, name: str) -> None:
    wire, heard = Wire(), []
    user = make("user", wire=wire)
    await user.auth.signup(f"{name}@example.com", PASSWORD)
    user.auth.on_change(lambda event, _: heard.append(event))
    ended = make("user")
    await ended.auth.set_session(await user.auth.session())
    await ended.auth.logout()
    wire.requests.clear()
    with pytest.raises(CredentialError) as dead:
        await user.auth.user()
    assert (dead.value.code, heard, await user.auth.session()) == ("invalid_token", ["signed_out"], None)
    assert [each.url.path.rpartition("/")[2] for each in wire.requests] == ["user", "refresh"]


async def test_k7_a_sign_out_during_a_refresh_stays(make: Make, name: str) -> None:
    """K7: the refresh that was under way does not bring the session back, nor does it replace another user's."""
    user, other = make("user"), make("user")
    await other.auth.signup(f"{name}-b@example.com", PASSWORD)
    for successor in (None, await other.auth.session()):
        await user.auth.signup(f"{name}-{successor is None}@example.com", PASSWORD)
        store = memory()
        held = HeldStore(store, successor)
        holding = make("user", session=held)
        await holding.auth.set_session(await user.auth.session())
        held.is_armed = True
        assert await holding.auth.refresh() is None
        assert (store.get() and store.get()["user_id"]) == (successor and successor["user_id"])


class HeldStore:
    """A store in which another client signs out, or another user in, just before a refresh looks at it again."""

    def __init__(self, store: Any, successor: Any) -> None:
        self.store, self.successor, self.is_armed, self.reads = store, successor, False, 0

    def get(self) -> Any:
        self.reads += self.is_armed
        if self.is_armed and self.reads == 3:
            self.store.set(self.successor)
        return self.store.get()

    def set(self, session: Any) -> None:
        self.store.set(session)


async def test_k8_a_listener_may_call_and_may_fail(make: Make, name: str) -> None:
    """K8: the other listeners run, and a refresh inside a listener waits for nothing."""
    store, seen = memory(), []
    user = make("user", session=store)

    def failing(event: str, session: Mapping[str, Any] | None) -> None:
        raise RuntimeError("mine")

    user.auth.on_change(failing)
    user.auth.on_change(lambda event, session: seen.append((event, store.get() == session)))
    await user.auth.signup(f"{name}@example.com", PASSWORD)
    await user.auth.refresh()
    assert seen == [("signed_in", True), ("refreshed", True)]


async def test_k22_what_a_broken_store_gives_is_no_session(make: Make) -> None:
    """K22: nothing of it is believed."""
    for forged in ("text", {"access_token": 1}, {"access_token": "x", "user_id": "u"}, 17):
        store = memory()
        store.set(forged)  # type: ignore[arg-type]
        assert await make("user", session=store).auth.session() is None


async def test_an_enrolment_that_is_needed_is_a_result(make: Make) -> None:
    body = b'{"detail": "Add a factor", "code": "mfa_enrolment_required", "flow_id": "f"}'
    user = make("user", wire=Wire(answer(403, body)))
    assert await user.auth.login("ann@example.com", PASSWORD) == EnrolmentNeeded("f")


async def test_servers_make_users_and_read_their_events(make: Make, name: str) -> None:
    server = make()
    user = {"email": f"{name}@example.com", "data": {"city": "Paris"}, "password": PASSWORD}
    user_id = (await server.admin.users.create(user))["id"]
    assert (await server.users.set_roles(user_id, ["editor"])).roles == ["editor"]
    found = await server.users.list(where={"email_eq": f"{name}@example.com"}, fields=["city"])
    assert (found.total, found.users[0].data, found.users[0].roles) == (1, {"city": "Paris"}, ["editor"])
    assert (await server.users.get(user_id)).email == f"{name}@example.com"
    assert [each.id async for each in server.users.each(where={"id_eq": user_id})] == [user_id]
    link = await server.admin.users.make_link(user_id, {"purpose": "reset_password"})
    assert {"url", "code", "flow_id"} <= link.keys()
    assert (await server.admin.users.change(user_id, {"disabled": True}))["disabled"] is True
    await server.admin.users.delete(user_id)
    types = {each["type"] for each in (await server.admin.events(user_id=user_id))["events"]}
    assert {"user_created", "user_disabled", "user_deleted"} <= types
