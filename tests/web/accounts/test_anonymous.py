"""Anonymous users, and rows J16 and J17: floods of them, their rights, and the accounts that they get."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import httpx2
import jwt
import pytest

from service.domain.accounts.anonymous import end_unused
from service.services import Services
from service.storage.users import day_of
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, newest

SIGNUP, UPGRADE, USER = "/auth-collections/signup-anonymous", "/auth-collections/user/upgrade", "/auth-collections/user"
ANN = {"email": "ann@example.com", "password": "correct horse"}
REQUIRED = {"ANONYMOUS": "on", "EMAIL_VERIFICATION": "required"}


@pytest.fixture
async def api(make_api: MakeApi) -> Api:
    return await make_api(ANONYMOUS="on")


async def sign_up(api: Api, **data: Any) -> dict[str, Any]:
    """The answer to an anonymous signup of a page."""
    answer = await ask(api, "signup-anonymous", **data)
    assert answer.status_code == 201
    return dict(answer.json())


async def upgrade(api: Api, token: str, **body: Any) -> httpx2.Response:
    return await api.as_user(token, "POST", UPGRADE, json=body)


def told(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


async def test_a_page_signs_up_a_user_without_an_address(api: Api) -> None:
    signed_up = await sign_up(api, cart=["a1"])
    token, user = signed_up["access_token"], signed_up["user"]
    shown = {"email": None, "data": {"cart": ["a1"]}, "anonymous": True, "email_verified": False}
    assert {name: user[name] for name in shown} == shown
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["amr"], claims["anonymous"], claims["aal"]) == (["anon"], True, 1)
    record = api.database["users"].find_one() or {}
    assert (record["anonymous"], "email" in record, "password" in record) == (True, False, False)
    profile = (await api.as_user(token, "GET", USER)).json()
    assert (profile["id"], profile["email"]) == (user["id"], None)
    # The address may be sent back as it was read.
    changed = await api.as_user(token, "PUT", USER, json={"cart": ["a1", "b2"], "email": None})
    assert changed.json()["data"] == {"cart": ["a1", "b2"]}
    active = (await api.request("POST", "/auth-collections/introspect", json={"token": token})).json()
    assert (active["active"], active["anonymous"], active["username"]) == (True, True, None)
    # The list shows all of them, in the order of their addresses too.
    await sign_up(api)
    await api.signup()
    assert [each["email"] for each in (await api.users("sort_by=email")).json()["users"]] == [None, None, ANN["email"]]
    assert (await api.users("email_isnull=true")).json()["total"] == 2


async def test_a_project_has_none_unless_it_says_so(make_api: MakeApi) -> None:
    api = await make_api()
    assert told(await ask(api, "signup-anonymous")) == (403, "anonymous_off")
    methods = await api.request("GET", "/auth-collections/sign-in-methods")
    assert methods.json()["anonymous"] is False


@pytest.mark.parametrize("body", [{"email": "a@example.com"}, {"password": "correct horse"}, {"id": "x"}, {"data": {}}])
async def test_fields_of_accounts_are_no_data(api: Api, body: dict[str, Any]) -> None:
    answer = await ask(api, "signup-anonymous", **body)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", next(iter(body))])


async def test_j16_an_address_makes_30_an_hour_and_a_server_any_number(make_api: MakeApi) -> None:
    api = await make_api(ANONYMOUS="on", ANONYMOUS_LIMIT="30")
    answers = await asyncio.gather(*(ask(api, "signup-anonymous") for _ in range(100)))
    assert sorted(each.status_code for each in answers) == [201] * 30 + [429] * 70
    assert api.database["users"].count_documents({}) == 30
    assert (await api.request("POST", SIGNUP, json={})).status_code == 201


async def test_j16_rules_for_users_are_for_accounts(api: Api) -> None:
    notes = {"name": "notes", "schema": {"text": {"type": "string"}}}
    assert (await api.request("POST", "/api/collections", json=notes)).status_code == 201
    token, documents = (await sign_up(api))["access_token"], "/api/collections/notes/documents"
    outcomes = []
    for read, create in (
        ("users", "users"),
        ("signed_in", "signed_in"),
        ({"$user.anonymous_eq": False}, {"$user.anonymous_eq": True}),
        ({"not": {"$user.anonymous_eq": False}}, {"not": {"$user.anonymous_eq": True}}),
    ):
        rules = {"collections": {"notes": {"read": read, "create": create}}}
        assert (await api.request("PUT", "/api/rules", json=rules)).status_code == 200
        found = await api.as_user(token, "GET", documents)
        made = await api.as_user(token, "POST", documents, json={"data": {"text": "x"}})
        outcomes.append((found.status_code, made.status_code))
    assert outcomes == [(403, 403), (200, 201), (403, 201), (200, 403)]
    # A guest is neither.
    answer = await api.http.get(documents, headers={"x-api-key": api.publishable_key})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "", None),
        ("POST", "/email", {"email": "a@example.com"}),
        ("POST", "/password", {"password": "correct horse"}),
        ("POST", "/factors/totp", {}),
        ("POST", "/step-up", {"password": "correct horse"}),
        ("DELETE", "/sessions", None),
    ],
)
async def test_j16_an_anonymous_user_never_signed_in_just_now(
    api: Api, method: str, path: str, body: dict[str, Any] | None
) -> None:
    token = (await sign_up(api))["access_token"]
    answer = await api.as_user(token, method, USER + path, **({} if body is None else {"json": body}))
    assert told(answer) == (403, "step_up_required")


async def test_neither_proof_nor_second_factor_is_asked(make_api: MakeApi) -> None:
    api = await make_api(**REQUIRED, MFA="required")
    token = (await sign_up(api))["access_token"]
    assert told(await upgrade(api, token, **ANN)) == (202, "")


async def test_an_upgrade_keeps_the_user_and_replaces_the_session(api: Api) -> None:
    signed_up = await sign_up(api, cart=["a1"])
    answer = await upgrade(api, signed_up["access_token"], **ANN)
    body = answer.json()
    assert (answer.status_code, body["user"]["id"]) == (200, signed_up["user"]["id"])
    assert (body["user"]["email"], body["user"]["data"], "anonymous" in body["user"]) == (
        ANN["email"],
        {"cart": ["a1"]},
        False,
    )
    assert (await api.as_user(signed_up["access_token"], "GET", USER)).status_code == 401
    record = api.database["users"].find_one() or {}
    assert not {"anonymous", "active_on"} & record.keys()
    assert (await api.login()).status_code == 200
    assert told(await upgrade(api, body["access_token"], email="b@example.com", password="correct horse")) == (
        409,
        "not_anonymous",
    )
    # The new session is one of an account.
    assert (await api.as_user(body["access_token"], "DELETE", USER)).status_code == 204


async def test_j17_an_address_is_upgraded_to_once(api: Api) -> None:
    tokens = [(await sign_up(api))["access_token"] for _ in range(12)]
    answers = await asyncio.gather(*(upgrade(api, token, **ANN) for token in tokens))
    assert sorted(told(each) for each in answers) == [(200, "")] + [(400, "email_already_registered")] * 11
    for token, answer in zip(tokens, answers, strict=True):
        alive = (await api.as_user(token, "GET", USER)).status_code
        assert alive == (401 if answer.status_code == 200 else 200)


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"email": None}, "email"),
        ({**ANN, "name": "Ann"}, "name"),
        ({"email": "a@example.com"}, "password"),
        ({"email": "a@example.com", "password": "short"}, "password"),
    ],
)
async def test_an_upgrade_takes_an_address_and_a_password(api: Api, body: dict[str, Any], loc: str) -> None:
    answer = await upgrade(api, (await sign_up(api))["access_token"], **body)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", loc])


async def test_optional_proof_mails_the_new_account(make_api: MakeApi, services: Services) -> None:
    api = await make_api(ANONYMOUS="on", EMAIL_VERIFICATION="optional")
    body = (await upgrade(api, (await sign_up(api))["access_token"], **ANN)).json()
    code = (await newest(services, api)).code
    confirmed = await ask(api, "confirm", flow_id=body["flow_id"], code=code)
    assert confirmed.json() == {"email_verified": True}
    assert (await api.login()).json()["user"]["email_verified"] is True


@pytest.mark.parametrize("password", [{"password": ANN["password"]}, {}])
async def test_a_required_proof_comes_before_the_address(
    make_api: MakeApi, services: Services, password: dict[str, str]
) -> None:
    api = await make_api(**REQUIRED)
    signed_up = await sign_up(api, cart=["a1"])
    flow = await upgrade(api, signed_up["access_token"], email=ANN["email"], **password)
    assert (flow.status_code, sorted(flow.json())) == (202, ["expires_in", "flow_id"])
    # Until then the user is as before.
    assert (await api.as_user(signed_up["access_token"], "GET", USER)).json()["email"] is None
    assert (await api.login()).status_code == 404
    step_up = await api.as_user(
        signed_up["access_token"], "POST", f"{USER}/step-up", json={"password": ANN["password"]}
    )
    assert told(step_up) == (403, "step_up_required")
    confirmed = await ask(api, "confirm", flow_id=flow.json()["flow_id"], code=(await newest(services, api)).code)
    user = confirmed.json()["user"]
    assert (confirmed.status_code, user["id"], user["email"]) == (200, signed_up["user"]["id"], ANN["email"])
    assert (user["email_verified"], user["data"]) == (True, {"cart": ["a1"]})
    assert (await api.as_user(signed_up["access_token"], "GET", USER)).status_code == 401
    assert (await api.login()).status_code == (200 if password else 401)


async def test_the_link_alone_gives_the_address_without_the_password(make_api: MakeApi, services: Services) -> None:
    """The reader of the mail may not be the one who chose the password."""
    api = await make_api(**REQUIRED)
    token = (await sign_up(api))["access_token"]
    await upgrade(api, token, **ANN)
    link = (await newest(services, api)).link or ""
    confirmed = await ask(api, "confirm", token=link.partition("?t=")[2])
    assert confirmed.json() == {"email_verified": True}
    assert (await api.login()).status_code == 401
    assert (await api.as_user(token, "GET", USER)).status_code == 401


async def test_j17_a_taken_address_is_told_only_where_accounts_are_not_hidden(
    make_api: MakeApi, services: Services
) -> None:
    open_, hidden = await make_api(**REQUIRED), await make_api(**REQUIRED, PRIVATE_ACCOUNTS="true")
    for api in (open_, hidden):
        await ask(api, "signup", **ANN)
    token = (await sign_up(open_))["access_token"]
    assert told(await upgrade(open_, token, **ANN)) == (400, "email_already_registered")
    assert (await open_.as_user(token, "GET", USER)).status_code == 200
    token = (await sign_up(hidden))["access_token"]
    answer = await upgrade(hidden, token, **ANN)
    assert (answer.status_code, sorted(answer.json())) == (202, ["expires_in", "flow_id"])
    assert (await newest(services, hidden)).kind == "account_exists"


async def test_an_address_taken_since_is_a_conflict(make_api: MakeApi, services: Services) -> None:
    api = await make_api(**REQUIRED)
    flow = (await upgrade(api, (await sign_up(api))["access_token"], **ANN)).json()["flow_id"]
    code = (await newest(services, api)).code
    body = {"email": ANN["email"]}
    assert (await api.request("POST", "/auth-collections/users", json=body)).status_code == 201
    assert told(await ask(api, "confirm", flow_id=flow, code=code)) == (409, "email_already_registered")
    assert api.database["users"].count_documents({"anonymous": True}) == 1


async def test_unused_anonymous_users_end_after_their_days(api: Api, services: Services) -> None:
    today, users = day_of(datetime.utcnow()), api.database["users"]  # noqa: DTZ003 - as it is stored
    kept, gone, upgraded, back = [await sign_up(api) for _ in range(4)]
    ages = {kept["user"]["id"]: 30, gone["user"]["id"]: 31, upgraded["user"]["id"]: 31, back["user"]["id"]: 31}
    for user_id, days in ages.items():
        users.update_one({"_id": user_id}, {"$set": {"active_on": today - timedelta(days=days)}})
    await upgrade(api, upgraded["access_token"], **ANN)
    # A use is noted with that of the session, at most once an hour.
    claims = jwt.decode(back["access_token"], options={"verify_signature": False})
    services.sessions.sightings.note(api.project, {**claims, "iat": claims["iat"] - 4_000})
    await services.sessions.sightings.write()
    await end_unused(services.accounts, services.base)
    left = {each["_id"] for each in users.find({}, {"_id": 1})}
    assert left == {kept["user"]["id"], upgraded["user"]["id"], back["user"]["id"]}
    assert (await api.as_user(gone["access_token"], "GET", USER)).status_code == 401


async def test_servers_see_and_name_anonymous_users(api: Api) -> None:
    user_id = (await sign_up(api))["user"]["id"]
    path = f"/auth-collections/users/{user_id}"
    shown = (await api.request("GET", path)).json()
    assert (shown["email"], shown["anonymous"]) == (None, True)
    link = await api.request("POST", f"{path}/links", json={"purpose": "sign_in"})
    assert link.status_code == 422
    named = await api.request("PATCH", path, json={"email": ANN["email"]})
    assert (named.status_code, named.json()["email"], "anonymous" in named.json()) == (200, ANN["email"], False)
