"""Rows V11 and V27: what an unproven address is good for, and the events of all that changes an account."""

from typing import Any

import httpx2

from service.services import Services
from tests.conftest import Api
from tests.web.flows.mailbox import ask, newest
from tests.web.rules.conftest import save, sign_up

EVENTS, USERS = "/auth-collections/events", "/auth-collections/users"
EMAIL, NEW = "ann@example.com", "a better password"


async def events(api: Api, type_: str) -> list[tuple[str, Any]]:
    """Actor and detail of each, the newest first."""
    found = (await api.request("GET", f"{EVENTS}?type={type_}")).json()["events"]
    return [(each["actor"], each["detail"]) for each in found]


async def by_mail(services: Services, api: Api, path: str, **body: str) -> dict[str, str]:
    """The flow and the code of a mail that somebody asks for."""
    asked = await ask(api, path, email=EMAIL, **body)
    return {"flow_id": asked.json()["flow_id"], "code": (await newest(services, api, EMAIL)).code}


async def reset(services: Services, api: Api, **body: Any) -> httpx2.Response:
    proof = await by_mail(services, api, "forgot-password")
    return await ask(api, "reset-password", **proof, password=NEW, **body)


async def test_v27_a_reset_by_mail_leaves_its_event(api: Api, services: Services) -> None:
    await api.signup()
    assert (await reset(services, api)).status_code == 204
    assert await events(api, "password_changed") == [("user", {"by": "mail"})]
    assert await events(api, "email_verified") == [("user", {"before": False, "after": True, "by": "mail"})]
    (event,) = (await api.request("GET", f"{EVENTS}?type=password_changed")).json()["events"]
    assert (event["ip"], event["user_agent"] is None) == ("127.0.0.1", False)


async def test_v27_proof_of_an_address_leaves_its_event_once(api: Api, services: Services) -> None:
    user = (await api.signup()).json()["user"]
    assert (await ask(api, "confirm", **await by_mail(services, api, "verify-email"))).status_code == 200
    first = ("user", {"before": False, "after": True, "by": "mail"})
    assert await events(api, "email_verified") == [first]
    assert (await ask(api, "confirm", **await by_mail(services, api, "login-email"))).status_code == 200
    assert await events(api, "email_verified") == [first]
    for value in (True, False):
        await api.request("PATCH", f"{USERS}/{user['id']}", json={"email_verified": value})
    assert await events(api, "email_verified") == [("server", {"before": True, "after": False}), first]


async def test_v27_changes_of_roles_leave_their_event_whoever_makes_them(api: Api) -> None:
    user = (await api.signup()).json()["user"]
    path = f"{USERS}/{user['id']}/roles"
    assert (await api.request("PUT", path, json={"roles": ["editor"]})).status_code == 200
    assert (await api.request("PUT", path, json={"roles": ["editor"]})).status_code == 200
    assert await events(api, "roles_changed") == [("server", {"before": [], "after": ["editor"]})]
    lead = await sign_up(api, "lead")
    assert (await api.request("PUT", f"{USERS}/{lead.id}/roles", json={"roles": ["lead"]})).status_code == 200
    rules = {"users": {"read": "users"}, "assign": {"writer": {"$user.roles_eq": "lead"}}}
    saved = await save(api, rules)
    assert saved.status_code == 200, saved.text
    assert (await lead.ask("PUT", path, json={"roles": ["writer"]})).json()["roles"] == ["writer"]
    detail = {"before": ["editor"], "after": ["editor", "writer"], "by": lead.id}
    assert (await events(api, "roles_changed"))[0] == ("user", detail)
