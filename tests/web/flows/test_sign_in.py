"""Sign-in by mail: POST /login-email, its code at /confirm, its link, and POST /token."""

import asyncio
import base64
import hashlib
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from service.services import Services
from tests.conftest import BASE_URL, Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
EMAIL = "ann@example.com"
PAGE = "https://app.example/in?from=mail"
OWN = {"origin": BASE_URL, "sec-fetch-site": "same-origin"}
INVALID = (400, {"detail": "Invalid or expired code", "code": "invalid_code"})


def outcome(answer: httpx2.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()


async def by_link(services: Services, api: Api) -> str:
    """The path of the link of a mail that was asked for just now."""
    link: str = (await newest(services, api, EMAIL)).link
    return link.removeprefix(BASE_URL)


async def click(api: Api, link: str) -> str:
    """The code in the address to which the page's button leads."""
    followed = await api.http.post(link, headers=OWN)
    assert followed.status_code == 303
    location = followed.headers["location"]
    assert location.startswith(f"{PAGE}&svc-code=")
    return parse_qs(urlsplit(location).query)["svc-code"][0]


async def exchange(api: Api, code: str, verifier: str | None = VERIFIER) -> httpx2.Response:
    body = {"code": code} if verifier is None else {"code": code, "code_verifier": verifier}
    return await ask(api, "token", **body)


async def test_a_code_signs_in_once_and_proves_the_address(api: Api, services: Services) -> None:
    await api.signup()
    asked = await ask(api, "login-email", email=EMAIL, locale="de")
    assert (asked.status_code, sorted(asked.json())) == (202, ["expires_in", "flow_id"])
    mail = await newest(services, api)
    # Without a challenge no link could be exchanged by anybody.
    assert (mail.kind, mail.to, mail.link) == ("sign_in", EMAIL, None)
    proof = {"flow_id": asked.json()["flow_id"], "code": mail.code}
    signed_in = await ask(api, "confirm", **proof)
    body = signed_in.json()
    assert (signed_in.status_code, sorted(body)) == (200, ["access_token", "token_type", "user"])
    assert (await api.as_user(body["access_token"], "GET", "/auth-collections/user")).json()["email"] == EMAIL
    session = api.database["sessions"].find_one({"amr": ["email"]}) or {}
    assert session["aal"] == 1
    assert (api.database["users"].find_one() or {})["email_verified"] is True
    assert outcome(await ask(api, "confirm", **proof)) == INVALID


async def test_who_planted_an_account_is_out_once_its_owner_signs_in_by_mail(api: Api, services: Services) -> None:
    """An attacker signs up with another person's address, and waits until that person uses the account."""
    planted = (await api.signup()).json()
    owners: list[dict[str, Any]] = []
    for _ in range(2):
        asked = await ask(api, "login-email", email=EMAIL)
        mail = await newest(services, api)
        owners.append((await ask(api, "confirm", flow_id=asked.json()["flow_id"], code=mail.code)).json())
    assert {each["user"]["id"] for each in owners} == {planted["user"]["id"]}
    assert (await api.as_user(planted["access_token"], "GET", "/auth-collections/user")).status_code == 401
    assert (await api.login()).status_code == 401
    assert (await api.login(password=EMAIL)).status_code == 401
    # The second sign-in proves nothing new, and ends nothing.
    for each in owners:
        assert (await api.as_user(each["access_token"], "GET", "/auth-collections/user")).status_code == 200
    found = (await api.as_user(owners[1]["access_token"], "GET", "/auth-collections/user/events")).json()["events"]
    assert [each["type"] for each in found].count("password_changed") == 1


async def test_who_proved_the_address_keeps_the_password(api: Api, services: Services) -> None:
    await api.signup()
    api.database["users"].update_one({}, {"$set": {"email_verified": True}})
    asked = await ask(api, "login-email", email=EMAIL)
    mail = await newest(services, api)
    assert (await ask(api, "confirm", flow_id=asked.json()["flow_id"], code=mail.code)).status_code == 200
    assert (await api.login()).status_code == 200


async def test_a_link_signs_in_the_app_that_asked(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS=PAGE, ACCESS_TOKEN_LIFETIME="900")
    await api.signup()
    await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)
    code = await click(api, await by_link(services, api))
    signed_in = await exchange(api, code)
    body = signed_in.json()
    assert signed_in.status_code == 200
    assert sorted(body) == ["access_token", "expires_in", "refresh_token", "token_type", "user"]
    assert (await api.as_user(body["access_token"], "GET", "/auth-collections/user")).status_code == 200
    assert outcome(await exchange(api, code)) == INVALID
    # A code is no link's token, either.
    assert (await api.http.get(f"/auth-collections/link?t={code}")).status_code == 400


async def test_e1_who_looks_at_a_sign_in_link_or_submits_its_form_spends_nothing(
    make_api: MakeApi, services: Services
) -> None:
    api = await make_api(REDIRECT_URLS=PAGE)
    await api.signup()
    flow_id = (await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)).json()["flow_id"]
    mail, link = await newest(services, api), await by_link(services, api)
    for _ in range(10):
        assert (await api.http.get(link)).status_code == 200
        assert (await api.http.head(link)).status_code == 200
    scanned = [await click(api, link) for _ in range(3)]
    assert len(set(scanned)) == 3
    # Nor can the scanner do anything with what it was given.
    for code, verifier in zip(scanned, (None, "x" * 43, CHALLENGE), strict=True):
        assert outcome(await exchange(api, code, verifier)) == INVALID
        assert outcome(await exchange(api, code)) == INVALID
    assert outcome(await ask(api, "confirm", token=link.partition("?t=")[2])) == INVALID
    assert not list(api.database["sessions"].find({"amr": ["email"]}))
    assert (await exchange(api, await click(api, link))).status_code == 200
    # One of the two is all there is.
    assert outcome(await ask(api, "confirm", flow_id=flow_id, code=mail.code)) == INVALID


async def test_e1_the_code_signs_in_after_a_scanner_submitted_the_form(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS=PAGE)
    await api.signup()
    flow_id = (await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)).json()["flow_id"]
    mail, late = await newest(services, api), await click(api, await by_link(services, api))
    assert (await ask(api, "confirm", flow_id=flow_id, code=mail.code)).status_code == 200
    assert outcome(await exchange(api, late)) == INVALID


async def test_e2_of_many_at_once_with_the_code_or_the_link_one_signs_in(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS=PAGE)
    await api.signup()
    flow_id = (await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)).json()["flow_id"]
    mail, link = await newest(services, api), await by_link(services, api)
    codes = [await click(api, link) for _ in range(3)]
    exchanges = [exchange(api, code) for code in codes for _ in range(3)]
    confirms = [ask(api, "confirm", flow_id=flow_id, code=mail.code) for _ in range(4)]
    statuses = [answer.status_code for answer in await asyncio.gather(*exchanges, *confirms)]
    assert (statuses.count(200), statuses.count(400)) == (1, len(statuses) - 1)
    assert len(list(api.database["sessions"].find({"amr": ["email"]}))) == 1


async def test_a_code_of_an_address_is_of_its_project_and_its_minute(
    make_api: MakeApi, services: Services, mongo: Any
) -> None:
    api, other = await make_api(REDIRECT_URLS=PAGE), await make_api()
    await api.signup()
    await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)
    link = await by_link(services, api)
    assert outcome(await exchange(other, await click(api, link))) == INVALID
    code = await click(api, link)
    kept = mongo[f"{services.base.databases.prefix}system"]["sign_in_states"]
    assert code not in str(list(kept.find()))
    kept.update_many({}, [{"$set": {"expires_at": {"$subtract": ["$expires_at", 60_000]}}}])
    assert outcome(await exchange(api, code)) == INVALID
    assert (await exchange(api, "x" * 65)).status_code == 422


async def test_create_makes_an_account_of_who_has_none(api: Api, services: Services) -> None:
    asked = await ask(api, "login-email", email=EMAIL, create=True)
    assert not list(api.database["users"].find())
    proof = {"flow_id": asked.json()["flow_id"], "code": (await newest(services, api)).code}
    answers = await asyncio.gather(*(ask(api, "confirm", **proof) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    (user,) = api.database["users"].find()
    assert (user["email"], user["data"], user["email_verified"]) == (EMAIL, {}, True)
    # There is no password, and no known text matches.
    for password in (EMAIL, "correct horse"):
        assert (await api.login(password=password)).status_code == 401


async def test_create_finds_who_signed_up_meanwhile(api: Api, services: Services) -> None:
    asked = await ask(api, "login-email", email=EMAIL, create=True)
    user_id = (await api.signup()).json()["user"]["id"]
    mail = await newest(services, api)
    signed_in = await ask(api, "confirm", flow_id=asked.json()["flow_id"], code=mail.code)
    assert (signed_in.status_code, signed_in.json()["user"]["id"]) == (200, user_id)


async def test_strangers_and_users_are_answered_alike(api: Api, services: Services, commands: CommandRecorder) -> None:
    await api.signup()
    # Now the project is remembered by this key, too.
    await ask(api, "login-email", email="first@example.com")
    seen = []
    for body in ({"email": EMAIL}, {"email": "nobody@example.com"}, {"email": "new@example.com", "create": True}):
        commands.commands.clear()
        asked = await ask(api, "login-email", code_challenge=CHALLENGE, **body)
        seen.append((asked.status_code, sorted(asked.json()), commands.work))
    assert seen[0] == seen[1] == seen[2]
    assert sorted(mail.to or "" for mail in await mailed(services, api)) == [EMAIL, "new@example.com"]
    decoy = (await ask(api, "login-email", email="nobody@example.com", code_challenge=CHALLENGE)).json()["flow_id"]
    assert outcome(await ask(api, "confirm", flow_id=decoy, code="123456")) == INVALID


async def test_d3_a_disabled_user_is_told_so_by_the_right_code_and_link_only(
    make_api: MakeApi, services: Services
) -> None:
    api = await make_api(REDIRECT_URLS=PAGE)
    user_id = (await api.signup()).json()["user"]["id"]
    await api.request("PATCH", f"/auth-collections/users/{user_id}", json={"disabled": True})
    flow_id = (await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)).json()["flow_id"]
    mail, link = await newest(services, api), await by_link(services, api)
    wrong = f"{(int(mail.code) + 1) % 10**6:06}"
    assert outcome(await ask(api, "confirm", flow_id=flow_id, code=wrong)) == INVALID
    refused = (403, {"detail": "Account disabled", "code": "account_disabled"})
    assert outcome(await exchange(api, await click(api, link))) == refused
    assert not list(api.database["sessions"].find({"amr": ["email"]}))


async def test_another_address_or_password_voids_the_mail(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS=PAGE)
    user_id = (await api.signup()).json()["user"]["id"]
    flow_id = (await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)).json()["flow_id"]
    mail, code = await newest(services, api), await click(api, await by_link(services, api))
    await api.request("PATCH", f"/auth-collections/users/{user_id}", json={"email": "bob@example.com"})
    assert outcome(await exchange(api, code)) == INVALID
    assert outcome(await ask(api, "confirm", flow_id=flow_id, code=mail.code)) == INVALID


async def test_what_is_asked_for_is_judged(make_api: MakeApi) -> None:
    api = await make_api(REDIRECT_URLS=PAGE)
    for body in (
        {"code_challenge": "short"},
        {"code_challenge": "+" * 43},
        {"create": "yes"},
        {"redirect_to": "https://evil.example/"},
        {"email_verified": True},
    ):
        answer = await ask(api, "login-email", email=EMAIL, **body)
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"][-1] == next(iter(body))


async def test_a_link_needs_a_page_to_lead_to(api: Api, services: Services) -> None:
    await api.signup()
    await ask(api, "login-email", email=EMAIL, code_challenge=CHALLENGE)
    mail = await newest(services, api)
    assert (mail.link, len(mail.code)) == (None, 6)


async def test_each_has_its_limits(make_api: MakeApi) -> None:
    api = await make_api(MAIL_REQUEST_LIMIT="2", CODE_LIMIT="2")
    asked = [await ask(api, "login-email", email=f"{letter}@example.com") for letter in "abc"]
    assert [answer.status_code for answer in asked] == [202, 202, 429]
    brought = [await exchange(api, "made-up") for _ in range(3)]
    assert [answer.status_code for answer in brought] == [400, 400, 429]
