"""Another address: POST /user/email, and what answers its mails. Row E8."""

import asyncio
from typing import Any

import httpx2
import pytest

from service.services import Services
from tests.conftest import BASE_URL, Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest, verify
from tests.web.flows.test_link import OWN, post

OLD, NEW = "ann@example.com", "ann@new.example"
PATH = "/auth-collections/user/email"
INVALID = (400, {"detail": "Invalid or expired code", "code": "invalid_code"})
TAKEN = (409, {"detail": "Email already registered", "code": "email_already_registered"})


def outcome(answer: httpx2.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()


async def token_of(api: Api) -> str:
    return str((await api.login()).json()["access_token"])


async def change(api: Api, token: str, email: str = NEW, **more: str) -> httpx2.Response:
    return await api.as_user(token, "POST", PATH, json={"email": email, **more})


async def mail_of(services: Services, api: Api, to: str, kind: str = "change_email") -> Any:
    return next(mail for mail in await mailed(services, api) if (mail.to, mail.kind) == (to, kind))


def token_in(mail: Any) -> str:
    return str(mail.link.partition("?t=")[2])


def address(api: Api) -> tuple[str, bool]:
    user = api.database["users"].find_one() or {}
    return user["email"], user.get("email_verified", False)


async def test_an_address_that_was_never_proven_is_told_and_not_asked(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    asked = await change(api, token, locale="de")
    assert (asked.status_code, sorted(asked.json())) == (202, ["expires_in", "flow_id"])
    assert sorted((mail.to, mail.kind) for mail in await mailed(services, api)) == [
        (OLD, "email_changed"),
        (NEW, "change_email"),
    ]
    assert address(api) == (OLD, False)
    code = (await mail_of(services, api, NEW)).code
    proof = {"flow_id": asked.json()["flow_id"], "code": code}
    confirmed = await ask(api, "confirm", **proof)
    assert outcome(confirmed) == (200, {"email": NEW, "waiting_for": None})
    assert address(api) == (NEW, True)
    assert outcome(await ask(api, "confirm", **proof)) == INVALID
    # The session is the same user's as before.
    profile = await api.as_user(token, "GET", "/auth-collections/user")
    assert (profile.status_code, profile.json()["email"]) == (200, NEW)
    assert ((await api.login()).status_code, (await api.login(NEW)).status_code) == (404, 200)
    (event,) = (await api.request("GET", "/auth-collections/events?type=email_changed")).json()["events"]
    assert (event["actor"], event["detail"]) == ("user", {"before": OLD, "after": NEW})


@pytest.mark.parametrize("first", ["new", "old"])
async def test_e8_half_confirmed_the_old_address_stays(api: Api, services: Services, first: str) -> None:
    await verify(services, api, OLD)
    asked = await change(api, await token_of(api))
    kinds = sorted((mail.to or "", mail.kind) for mail in await mailed(services, api))
    assert kinds == [(OLD, "change_email"), (OLD, "email_changed"), (NEW, "change_email")]
    new, old = await mail_of(services, api, NEW), await mail_of(services, api, OLD)
    # The approving mail has no code.
    assert (len(new.code), old.code) == (6, None)
    by_code = {"flow_id": asked.json()["flow_id"], "code": new.code}
    steps: dict[str, dict[str, str]] = {"new": by_code, "old": {"token": token_in(old)}}
    second = "old" if first == "new" else "new"
    half = await ask(api, "confirm", **steps[first])
    assert outcome(half) == (200, {"email": OLD, "waiting_for": second})
    assert address(api) == (OLD, True)
    # Neither can answer for the other.
    assert outcome(await ask(api, "confirm", **steps[first])) == INVALID
    assert address(api) == (OLD, True)
    done = await ask(api, "confirm", **steps[second])
    assert outcome(done) == (200, {"email": NEW, "waiting_for": None})
    assert address(api) == (NEW, True)


async def test_e8_a_typo_changes_nothing_and_another_change_takes_its_place(api: Api, services: Services) -> None:
    await verify(services, api, OLD)
    token = await token_of(api)
    typo = (await change(api, token, "ann@nwe.example")).json()["flow_id"]
    mistaken = await mail_of(services, api, "ann@nwe.example")
    approval = await mail_of(services, api, OLD)
    asked = await change(api, token)
    # The first one is void with both its mails.
    assert outcome(await ask(api, "confirm", flow_id=typo, code=mistaken.code)) == INVALID
    assert outcome(await ask(api, "confirm", token=token_in(approval))) == INVALID
    assert address(api) == (OLD, True)
    new, old = await mail_of(services, api, NEW), await mail_of(services, api, OLD)
    both = await asyncio.gather(
        ask(api, "confirm", flow_id=asked.json()["flow_id"], code=new.code), ask(api, "confirm", token=token_in(old))
    )
    assert [answer.status_code for answer in both] == [200, 200]
    assert None in [answer.json()["waiting_for"] for answer in both]
    assert address(api) == (NEW, True)


async def test_e8_taken_meanwhile_the_old_address_stays(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    await verify(services, api, OLD)
    await api.signup("bob@example.com")
    token = await token_of(api)
    seen = []
    for email in ("bob@example.com", NEW):
        commands.commands.clear()
        asked = await change(api, token, email)
        seen.append((asked.status_code, sorted(asked.json()), commands.names))
        new, old = await mail_of(services, api, email), await mail_of(services, api, OLD)
        # The caller does not learn if the address has an account.
        assert (await ask(api, "confirm", token=token_in(old))).json() == {"email": OLD, "waiting_for": "new"}
        if email == NEW:
            await api.signup(NEW)
        assert outcome(await ask(api, "confirm", flow_id=asked.json()["flow_id"], code=new.code)) == TAKEN
        assert address(api) == (OLD, True)
    assert seen[0] == seen[1]
    page = await post(api, new.link.removeprefix(BASE_URL), password="correct horse")
    assert (page.status_code, "has an account already" in page.text) == (409, True)


async def test_both_mails_can_be_answered_by_their_pages(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS="https://app.example/done")
    await verify(services, api, OLD)
    await change(api, await token_of(api), locale="fr")
    steps = {"Approuver une autre adresse": (OLD, ""), "Confirmer la nouvelle": (NEW, "correct horse")}
    for title, (to, password) in steps.items():
        link = (await mail_of(services, api, to)).link.removeprefix(BASE_URL)
        for _ in range(3):
            assert title in (await api.http.get(link)).text
        followed = await post(api, link, password=password)
        assert (followed.status_code, followed.headers["location"]) == (303, "https://app.example/done")
    assert address(api) == (NEW, True)


@pytest.mark.parametrize("fields", [{}, {"password": ""}, {"without_password": "1"}, {"password": "wrong horse"}])
async def test_e8_a_click_of_another_person_moves_no_account_to_that_persons_address(
    api: Api, services: Services, fields: dict[str, str]
) -> None:
    await change(api, (await api.signup()).json()["access_token"])
    link = (await mail_of(services, api, NEW)).link.removeprefix(BASE_URL)
    shown = await api.http.get(link)
    assert (shown.status_code, 'name="password"' in shown.text, "without_password" in shown.text) == (200, True, False)
    assert "another person would get your address" in shown.text
    page = await post(api, link, OWN, **fields)
    assert (page.status_code, 'name="password"' in page.text) == (401 if fields.get("password") else 200, True)
    assert address(api) == (OLD, False)
    assert (await post(api, link, password="correct horse")).status_code == 303
    assert address(api) == (NEW, True)


async def test_e8_an_account_without_a_password_is_moved_by_the_code_alone(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    asked = await change(api, token)
    api.database["users"].update_one({}, {"$set": {"password": OLD}})
    mail = await mail_of(services, api, NEW)
    link = mail.link.removeprefix(BASE_URL)
    for page in (await api.http.get(link), await post(api, link), await post(api, link, password=OLD)):
        assert (page.status_code, "<form" in page.text, "Type the code" in page.text) == (200, False, True)
    assert address(api) == (OLD, False)
    confirmed = await ask(api, "confirm", flow_id=asked.json()["flow_id"], code=mail.code)
    assert confirmed.json() == {"email": NEW, "waiting_for": None}


async def test_a_changed_address_voids_what_was_mailed_before(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    reset = (await ask(api, "forgot-password", email=OLD)).json()["flow_id"]
    code = (await newest(services, api, OLD)).code
    asked = await change(api, token)
    new = await mail_of(services, api, NEW)
    assert (await ask(api, "confirm", flow_id=asked.json()["flow_id"], code=new.code)).status_code == 200
    late = await ask(api, "reset-password", flow_id=reset, code=code, password="a better one")
    assert outcome(late) == INVALID


async def test_a_second_request_soon_after_is_the_first(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    other = (await api.signup("bob@example.com")).json()["access_token"]
    first, second = [(await change(api, token)).json()["flow_id"] for _ in range(2)]
    assert first == second
    assert len(await mailed(services, api)) == 2
    # The request of another user is another change.
    assert (await change(api, other)).json()["flow_id"] != first


async def test_a_change_is_for_who_signed_in_a_short_while_ago(api: Api, mongo: Any, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    same = await change(api, token, OLD)
    assert (same.status_code, same.json()["detail"][0]["loc"]) == (422, ["body", "email"])
    for body in ({"email": NEW, "redirect_to": "https://evil.example/"}, {"email": NEW, "email_verified": True}):
        assert (await api.as_user(token, "POST", PATH, json=body)).status_code == 422
    statuses = [(await change(api, token, f"a{number}@new.example")).status_code for number in range(6)]
    assert statuses == [202] * 5 + [429]
    assert (await api.http.post(PATH, json={"email": NEW})).status_code == 401
    assert [mail.kind for mail in await mailed(services, api) if mail.to == OLD] == ["email_changed"] * 5
