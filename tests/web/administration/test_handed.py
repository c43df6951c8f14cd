"""Servers list and end a user's sessions, and make links and invitations."""

from typing import Any

from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest

USERS, USER, MAILS = "/auth-collections/users", "/auth-collections/user", "/auth-collections/mails"
ABSENT = "0" * 24
NEW = "a better password"
GONE = (404, {"detail": "User not found", "code": "user_not_found"})


def told(answer: Any) -> tuple[int, Any]:
    return answer.status_code, answer.json()


async def link(api: Api, user_id: str, purpose: str, **fields: Any) -> Any:
    return await api.request("POST", f"{USERS}/{user_id}/links", json={"purpose": purpose, **fields})


async def test_a_users_sessions_are_listed_and_ended(api: Api) -> None:
    ann, bob = (await api.signup()).json(), (await api.signup("bob@example.com")).json()
    again = (await api.login()).json()["access_token"]
    path = f"{USERS}/{ann['user']['id']}/sessions"
    sessions = (await api.request("GET", path)).json()["sessions"]
    own = (await api.as_user(again, "GET", f"{USER}/sessions")).json()["sessions"]
    assert sessions == [{**each, "current": False} for each in own]
    assert len(sessions) == 2
    assert ((await api.request("DELETE", path)).status_code, (await api.request("GET", path)).json()) == (
        204,
        {"sessions": []},
    )
    tokens = (ann["access_token"], again, bob["access_token"])
    assert [(await api.as_user(token, "GET", USER)).status_code for token in tokens] == [401, 401, 200]
    assert (await api.login()).status_code == 200
    (event,) = (await api.request("GET", "/auth-collections/events?type=sessions_ended")).json()["events"]
    assert (event["user_id"], event["actor"]) == (ann["user"]["id"], "server")
    for method in ("GET", "DELETE"):
        assert told(await api.request(method, f"{USERS}/{ABSENT}/sessions")) == GONE


async def test_a_link_made_without_a_mail_does_what_a_mailed_one_does(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS="https://app.example.com/done")
    user = (await api.request("POST", USERS, json={"email": "ann@example.com"})).json()
    made = await link(api, user["id"], "invite", redirect_to="https://app.example.com/done")
    assert made.status_code == 201
    body = made.json()
    assert body.keys() == {"url", "code", "flow_id", "expires_at"}
    assert body["url"].startswith(f"{services.base.base_url}/auth-collections/link?t=")
    page = await api.http.get(body["url"])
    assert (page.status_code, "password" in page.text) == (200, True)
    # No mail was sent, and no list of mails has one.
    assert await mailed(services, api) == []
    assert (await api.request("GET", MAILS)).json()["total"] == 0
    token = body["url"].partition("?t=")[2]
    assert (await ask(api, "reset-password", token=token, password=NEW)).status_code == 204
    assert (await api.login(password=NEW)).status_code == 200
    assert (await api.request("GET", f"{USERS}/{user['id']}")).json()["email_verified"] is True
    reset, verify = [(await link(api, user["id"], each)).json() for each in ("reset_password", "verify_email")]
    proof = {"flow_id": verify["flow_id"], "code": verify["code"]}
    assert told(await ask(api, "confirm", **proof)) == (200, {"email_verified": True})
    proof = {"flow_id": reset["flow_id"], "code": reset["code"], "password": "yet another one"}
    assert (await ask(api, "reset-password", **proof)).status_code == 204
    events = (await api.request("GET", "/auth-collections/events?type=link_made")).json()["events"]
    assert [each["detail"] for each in events] == [
        {"purpose": purpose} for purpose in ("verify_email", "reset_password", "invite")
    ]


async def test_a_sign_in_link_made_without_a_mail_signs_in_by_its_code_and_by_its_page(
    make_api: MakeApi, services: Services
) -> None:
    api = await make_api(REDIRECT_URLS="https://app.example.com/done")
    user = (await api.request("POST", USERS, json={"email": "ann@example.com"})).json()
    made = await link(api, user["id"], "sign_in")
    assert (made.status_code, made.json().keys()) == (201, {"url", "code", "flow_id", "expires_at"})
    proof = {"flow_id": made.json()["flow_id"], "code": made.json()["code"]}
    signed_in = await ask(api, "confirm", **proof)
    assert (signed_in.status_code, signed_in.json()["user"]["id"]) == (200, user["id"])
    assert (await ask(api, "confirm", **proof)).status_code == 400
    url = (await link(api, user["id"], "sign_in")).json()["url"]
    followed = await api.http.post(url, headers={"origin": services.base.base_url})
    page, _, code = followed.headers["location"].partition("?svc-code=")
    assert (followed.status_code, page) == (303, "https://app.example.com/done")
    # It began without a challenge, so a verifier is none of it.
    assert (await ask(api, "token", code=code, code_verifier="x" * 43)).status_code == 400
    again = await api.http.post(url, headers={"origin": services.base.base_url})
    code = again.headers["location"].partition("?svc-code=")[2]
    assert (await ask(api, "token", code=code)).json()["user"]["id"] == user["id"]
    assert (await ask(api, "token", code=code)).status_code == 400


async def test_a_sign_in_link_of_a_project_without_pages_signs_in_by_its_code_alone(
    api: Api, services: Services
) -> None:
    user = (await api.request("POST", USERS, json={"email": "ann@example.com"})).json()
    made = (await link(api, user["id"], "sign_in")).json()
    assert (await api.http.post(made["url"], headers={"origin": services.base.base_url})).status_code == 400
    assert (await ask(api, "confirm", flow_id=made["flow_id"], code=made["code"])).status_code == 200


async def test_a_link_that_nobody_can_be_given(api: Api) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    assert told(await link(api, ABSENT, "invite")) == GONE
    for fields, loc in (
        ({"purpose": "change_email"}, ["body", "purpose"]),
        ({"purpose": "invite", "redirect_to": "https://evil.example.com"}, ["body", "redirect_to"]),
        ({"purpose": "invite", "email": "x@example.com"}, ["body", "email"]),
    ):
        answer = await api.request("POST", f"{USERS}/{user_id}/links", json=fields)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, loc)


async def test_an_invited_user_is_mailed_a_link_to_choose_a_password(api: Api, services: Services) -> None:
    answer = await api.request(
        "POST", USERS, json={"email": "ann@example.com", "invite": True}, headers={"accept-language": "de-AT,en"}
    )
    assert answer.status_code == 201
    assert "invite" not in answer.json()
    mail = await newest(services, api)
    assert (mail.kind, mail.to) == ("invite", "ann@example.com")
    assert "eingeladen" in mail.subject.lower() or "einladung" in mail.subject.lower()
    assert (await api.login(password=NEW)).status_code == 401
    done = await ask(api, "reset-password", token=mail.link.partition("?t=")[2], password=NEW)
    assert done.status_code == 204
    assert (await api.login(password=NEW)).status_code == 200


async def test_an_invitation_is_one_of_the_projects_mails_and_a_refused_one_is_not(
    make_api: MakeApi, services: Services
) -> None:
    api = await make_api(MAIL_LIMIT="1")
    await api.signup("taken@example.com")
    bodies = [{"email": f"{name}@example.com", "invite": True} for name in ("taken", "ann", "bob")]
    answers = [await api.request("POST", USERS, json=body) for body in bodies]
    assert [answer.status_code for answer in answers] == [409, 201, 429]
    assert answers[-1].json()["detail"] == (
        "The limit of 1 mails a day of this project is reached; the project's MAIL_LIMIT decides it, see docs/limits.md"
    )
    assert [mail.to for mail in await mailed(services, api)] == ["ann@example.com"]
    assert api.database["users"].count_documents({}) == 2
