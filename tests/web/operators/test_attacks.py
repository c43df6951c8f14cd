"""The rows of attacks on operators: other origins, other credentials, guesses, races, and stolen cookies."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from faults.waiting import until
from service.app import create_app
from service.domain.accounts.factor_codes import code_at
from service.domain.operators.invitations import make_bootstrap
from service.services import Services
from service.settings import Settings
from service.storage.operator_records import OperatorDatabase
from tests.conftest import PATIENT, Api
from tests.web.operators.conftest import OF_PAGE, ORIGIN, PASSWORD, Browse, Console, Join, token_of

SESSION = "/admin/v1/session"
JSON = "application/json"


def place(api: Api) -> str:
    return f"/admin/v1/projects/{api.project.id}"


@pytest.fixture
async def other_worker(settings: Settings) -> AsyncIterator[httpx2.ASGITransport]:
    """A second process on the same database, as far as its memory goes."""
    app = create_app(settings, PATIENT)
    async with app.router.lifespan_context(app):
        yield httpx2.ASGITransport(app=app)


def at(worker: httpx2.ASGITransport, console: Console) -> Console:
    """The same browser, whose requests another worker answers."""
    return Console(httpx2.AsyncClient(transport=worker, base_url=ORIGIN, cookies=console.http.cookies))


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"sec-fetch-site": "same-site", "origin": "https://service.test:8080"}, id="another port"),
        pytest.param({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, id="another site"),
        pytest.param({"sec-fetch-site": "unheard-of"}, id="an unknown value"),
        pytest.param({"origin": "https://evil.example"}, id="an old browser"),
        pytest.param({"origin": "null"}, id="an opaque origin"),
        pytest.param({"origin": "https://service.test.evil.example"}, id="a longer host"),
    ],
)
@pytest.mark.parametrize("content_type", [JSON, "text/plain", "application/x-www-form-urlencoded", "text/csv"])
async def test_c1_a_page_of_another_origin_writes_and_reads_nothing(
    headers: dict[str, str], content_type: str, owner: Console, api: Api, commands: Any
) -> None:
    await owner.post(f"{place(api)}/api/collections", {"name": "notes", "schema": {"text": {"type": "string"}}})
    page = Console(owner.http, headers)
    commands.commands.clear()
    sent = b'{"data": {"text": "x"}}'
    for method, path in (
        ("POST", f"{place(api)}/api/collections/notes/documents"),
        ("POST", f"{place(api)}/api/collections/notes/import"),
        ("GET", f"{place(api)}/api/collections/notes/export"),
        ("GET", "/admin/v1/projects"),
        ("DELETE", SESSION),
    ):
        answer = await page.request(method, path, content=sent, headers={"content-type": content_type})
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin")
    assert commands.names == []
    signed_in = await Console(owner.http, headers).sign_in()
    assert (signed_in.status_code, signed_in.json()["code"]) == (403, "cross_origin")


async def test_c2_requests_without_any_header_pass_for_reads_only(owner: Console, api: Api) -> None:
    bare = Console(owner.http, {})
    assert (await bare.get(SESSION)).status_code == 200
    for method, path in (
        ("POST", f"{place(api)}/api/rules/explain"),
        ("QUERY", f"{place(api)}/auth-collections/users"),
    ):
        assert (await bare.request(method, path)).json()["code"] == "cross_origin"
    typed = Console(owner.http, {"sec-fetch-site": "none"})
    assert (await typed.get(SESSION)).status_code == 200
    assert (await typed.delete(SESSION)).status_code == 403
    rebound = Console(owner.http, {"host": "evil.example", "origin": ORIGIN})
    assert (await rebound.post(f"{place(api)}/api/rules/explain")).status_code == 403


async def test_c2_a_preflight_opens_nothing(owner: Console, make_api: Any) -> None:
    api = await make_api(CORS_ORIGINS="*")
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    preflight = await owner.http.request("OPTIONS", f"{place(api)}/api/rules", headers=asked)
    assert preflight.status_code in {404, 405}
    answer = await Console(owner.http, {"origin": ORIGIN}).get(f"{place(api)}/api/rules")
    assert answer.status_code == 200
    for each in (preflight, answer):
        assert not [name for name in each.headers if name.startswith("access-control-")]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/api/collections", "/auth-collections/users", "/auth-collections/user", "/files/none.png", "/metrics"]
)
async def test_c3_the_cookie_opens_nothing_but_the_admin_api(path: str, owner: Console, browse: Browse) -> None:
    with_cookie, without = await owner.get(path), await browse().get(path)
    assert (with_cookie.status_code, with_cookie.content) == (without.status_code, without.content)
    assert with_cookie.status_code >= 400


async def begin(services: Services) -> str:
    made = await make_bootstrap(OperatorDatabase(services.base.databases), f"{ORIGIN}/console/")
    assert made is not None
    return token_of(made.link or "")


def acceptance(token: str, number: int = 0) -> dict[str, str]:
    return {"token": token, "name": "Olga", "password": PASSWORD, "email": f"o{number}@example.com"}


async def test_c4_one_bootstrap_link_makes_one_owner(
    browse: Browse, services: Services, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    before_the_last = await begin(services)
    link = await begin(services)
    old = await browse().post("/admin/v1/invitations/accept", acceptance(before_the_last))
    assert (old.status_code, old.json()["code"]) == (404, "invitation_not_found")
    sent = [browse().post("/admin/v1/invitations/accept", acceptance(link, number)) for number in range(50)]
    statuses = sorted(answer.status_code for answer in await asyncio.gather(*sent))
    # A few may be refused for want of a place in the queue of passwords.
    assert statuses.count(201) == 1
    assert set(statuses) <= {201, 404, 503}
    system = mongo[f"{database_prefix}system"]
    assert system["operators"].count_documents({}) == 1
    assert link not in str(list(system["audit"].find())) + str(list(system["operator_invitations"].find()))
    again = await browse().post("/admin/v1/invitations/accept", acceptance(link, 99))
    assert again.status_code == 404


async def test_c4_a_bootstrap_link_is_void_after_its_time_and_beside_operators(
    browse: Browse, services: Services, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    link = await begin(services)
    invitations = mongo[f"{database_prefix}system"]["operator_invitations"]
    late = {"$subtract": ["$$NOW", 1]}
    invitations.update_many({}, [{"$set": {"kept": "$expires_at", "expires_at": late}}])
    assert (await browse().post("/admin/v1/invitations/check", {"token": link})).status_code == 404
    invitations.update_many({}, [{"$set": {"expires_at": "$kept"}}])
    checked = await browse().post("/admin/v1/invitations/check", {"token": link})
    assert (checked.status_code, checked.json()["kind"]) == (200, "bootstrap")
    mongo[f"{database_prefix}system"]["operators"].insert_one({"_id": "0" * 24, "email": "first@example.com"})
    assert (await browse().post("/admin/v1/invitations/accept", acceptance(link))).status_code == 404


async def test_c5_the_invitation_decides_address_and_roles(owner: Console, browse: Browse, api: Api) -> None:
    roles = {api.project.id: "viewer"}
    invited = await owner.post("/admin/v1/operators", {"email": "new@example.com", "roles": roles})
    token = token_of(invited.json()["invitation"]["link"])
    body = {"token": token, "name": "New", "password": PASSWORD}
    for more in ({"email": "new@example.com"}, {"email": "x@example.com"}, {"roles": {"*": "owner"}}, {"id": "x"}):
        refused = await browse().post("/admin/v1/invitations/accept", body | more)
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", *more])
    made = await browse().post("/admin/v1/invitations/accept", body)
    assert (made.status_code, made.json()["operator"]["roles"]) == (201, roles)
    assert (await browse().post("/admin/v1/invitations/accept", body)).status_code == 404


async def test_c5_two_who_accept_one_link_make_one_account(owner: Console, browse: Browse) -> None:
    invited = await owner.post("/admin/v1/operators", {"email": "new@example.com", "roles": {"*": "viewer"}})
    body = {"token": token_of(invited.json()["invitation"]["link"]), "name": "New", "password": PASSWORD}
    answers = await asyncio.gather(*(browse().post("/admin/v1/invitations/accept", body) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [201, 404]


async def test_c6_of_100_codes_at_once_ten_are_judged(owner: Console, browse: Browse) -> None:
    secret = (await owner.post("/admin/v1/me/totp")).json()["secret"]
    await owner.post("/admin/v1/me/totp/confirm", {"code": code_at(secret, time.time() - 30)})
    console = browse()
    await console.sign_in()
    codes = [{"totp": f"{number:06}"} for number in range(18)]
    answers = await asyncio.gather(*(console.post(f"{SESSION}/factor", code) for code in codes))
    assert sorted(each.status_code for each in answers) == [401] * 10 + [429] * 8
    assert (await console.get(SESSION)).json()["stage"] == "factor"


async def test_c6_one_recovery_code_is_good_once(owner: Console, browse: Browse) -> None:
    secret = (await owner.post("/admin/v1/me/totp")).json()["secret"]
    done = await owner.post("/admin/v1/me/totp/confirm", {"code": code_at(secret, time.time() - 30)})
    code = done.json()["recovery_codes"][0]
    consoles = [browse() for _ in range(4)]
    for console in consoles:
        await console.sign_in()
    sent = [console.post(f"{SESSION}/factor", {"recovery_code": code}) for console in consoles for _ in range(2)]
    assert sum(each.status_code == 200 for each in await asyncio.gather(*sent)) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/admin/v1/projects/{}//api/rules",
        "/admin/v1/projects/{}/api%2Frules",
        "/ADMIN/v1/projects/{}/api/rules",
        "/admin/v1/projects/{}/API/rules",
        "/admin/v1/projects/{}/api/rules/",
    ],
)
async def test_c7_other_spellings_of_a_row_are_no_row(path: str, join: Join, owner: Console, api: Api) -> None:
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    overridden = {"x-http-method-override": "PUT"}
    answer = await viewer.post(path.format(api.project.id), {}, headers=overridden)
    assert answer.status_code in {403, 404, 405}


async def test_c7_a_batch_and_an_address_need_the_access_of_what_they_do(join: Join, owner: Console, api: Api) -> None:
    editor = await join("editor@example.com", **{api.project.id: "editor"})
    await api.signup()
    user_id = str((api.database["users"].find_one({}) or {})["_id"])
    change = {"op": "update", "collection": "users", "id": user_id, "data": {"name": "x"}}
    refused = await editor.post(f"{place(api)}/api/batch", {"operations": [change]})
    assert (refused.status_code, refused.json().get("needs")) == (403, f"{api.project.id}:users:write")
    address = f"{place(api)}/auth-collections/users/{user_id}"
    whole, named = await owner.token("*:*:write"), await owner.token("*:users:write")
    for token, body, status in (
        (whole, {"email": "x@example.com"}, 403),
        (whole, {"data": {"name": "x"}}, 200),
        (named, {"email": "y@example.com"}, 200),
    ):
        program = Console(owner.http, {"authorization": f"Bearer {token}"})
        assert (await program.request("PATCH", address, json=body)).status_code == status
    assert (api.database["users"].find_one({}) or {})["email"] == "y@example.com"


async def test_c7_head_asks_for_the_access_of_get(join: Join, owner: Console, make_api: Any) -> None:
    api, other = await make_api(), await make_api()
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    assert (await viewer.request("HEAD", f"{place(api)}/api/rules")).status_code == 200
    assert (await viewer.request("HEAD", f"{place(other)}/api/rules")).status_code == 404


async def test_c9_of_two_owners_who_demote_each_other_one_stays(
    owner: Console, join: Join, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    other = await join("second@example.com", every="owner")
    operators = mongo[f"{database_prefix}system"]["operators"]
    ids = {each["email"]: each["_id"] for each in operators.find()}
    theirs, own = ids["second@example.com"], ids["owner@example.com"]
    ways: list[tuple[str, dict[str, Any]]] = [
        ("PATCH", {"json": {"roles": {"*": "viewer"}}}),
        ("PATCH", {"json": {"disabled": True}}),
        ("DELETE", {}),
    ]
    for method, body in ways:
        answers = await asyncio.gather(
            owner.request(method, f"/admin/v1/operators/{theirs}", **body),
            other.request(method, f"/admin/v1/operators/{own}", **body),
        )
        # The second is refused as the last owner's, or comes from an operator who is none any more.
        assert sum(each.status_code < 300 for each in answers) == 1
        assert operators.count_documents({"roles.*": "owner", "disabled": {"$ne": True}}) == 1
        kept, gone = (owner, theirs) if answers[0].status_code < 300 else (other, own)
        if method == "DELETE":
            break
        await kept.request("PATCH", f"/admin/v1/operators/{gone}", json={"roles": {"*": "owner"}, "disabled": False})
        for console, email in ((owner, "owner@example.com"), (other, "second@example.com")):
            assert (await console.sign_in(email)).status_code == 200
    last = own if kept is owner else theirs
    refused = await kept.delete(f"/admin/v1/operators/{last}")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_owner")


async def test_c10_a_token_ends_with_its_rights(
    owner: Console, join: Join, api: Api, other_worker: httpx2.ASGITransport, mongo: Any, database_prefix: str
) -> None:
    admin = await join("admin@example.com", **{api.project.id: "admin"})
    token = await admin.token(f"{api.project.id}:*:write")
    program = Console(httpx2.AsyncClient(transport=other_worker, base_url=ORIGIN), {"authorization": f"Bearer {token}"})
    rules = f"{place(api)}/api/rules"
    assert (await program.get(rules)).status_code == 200
    found = (await owner.get("/admin/v1/operators")).json()["operators"]
    admin_id = next(each["id"] for each in found if each["email"] == "admin@example.com")
    address = f"/admin/v1/operators/{admin_id}"
    await owner.request("PATCH", address, json={"roles": {api.project.id: "viewer"}})
    assert (await program.request("PUT", rules, json={})).json()["needs"] == f"{api.project.id}:schema:write"
    await owner.request("PATCH", address, json={"disabled": True})
    assert (await program.get(rules)).status_code == 401
    await owner.request("PATCH", address, json={"disabled": False})
    assert (await program.get(rules)).status_code == 200
    mongo[f"{database_prefix}system"]["operator_tokens"].update_many({}, [{"$set": {"expires_at": "$$NOW"}}])
    assert (await program.get(rules)).status_code == 401


async def test_c10_what_is_no_token_of_an_operator_opens_nothing(owner: Console, browse: Browse, api: Api) -> None:
    signed_up = (await api.signup()).json()
    for bearer in (api.key, signed_up["access_token"], "aco_00000000_" + "a" * 32, ""):
        # A cookie beside a bad token is not read.
        answer = await owner.get(SESSION, headers={"authorization": f"Bearer {bearer}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "operator_required")
    token = await owner.token("*:*:write")
    assert (await browse().get(f"/admin/v1/projects?token={token}")).status_code == 401
    program = Console(owner.http, {"authorization": f"Bearer {token}"})
    for path in (SESSION, "/admin/v1/me/tokens", "/admin/v1/invitations"):
        assert (await program.get(path)).json()["code"] == "forbidden"
    assert (await program.get("/admin/v1/operators")).status_code == 200
    invited = await program.post("/admin/v1/operators", {"email": "x@example.com", "roles": {"*": "owner"}})
    assert invited.status_code == 403


async def test_c11_a_sign_out_and_a_demotion_hold_on_each_worker_at_once(
    owner: Console, join: Join, api: Api, other_worker: httpx2.ASGITransport
) -> None:
    console = await join("admin@example.com", **{api.project.id: "admin"})
    elsewhere = at(other_worker, console)
    rules = f"{place(api)}/api/rules"
    assert (await elsewhere.get(rules)).status_code == 200
    found = (await owner.get("/admin/v1/operators")).json()["operators"]
    admin_id = next(each["id"] for each in found if each["email"] == "admin@example.com")
    await owner.request("PATCH", f"/admin/v1/operators/{admin_id}", json={"roles": {api.project.id: "viewer"}})
    assert (await elsewhere.get(rules)).status_code == 401
    await console.sign_in("admin@example.com")
    elsewhere = at(other_worker, console)
    assert (await elsewhere.request("PUT", rules, json={})).status_code == 403
    await console.delete(SESSION)
    assert (await elsewhere.get(rules)).status_code == 401


async def test_c11_an_open_stream_ends_with_its_session(owner: Console, api: Api, services: Services) -> None:
    await owner.post(f"{place(api)}/api/collections", {"name": "notes", "schema": {"text": {"type": "string"}}})
    assert (await owner.request("PATCH", f"{place(api)}/api/collections/notes", json={"realtime": True})).is_success
    accept = {"accept": "text/event-stream"}
    streaming = asyncio.create_task(owner.get(f"{place(api)}/api/collections/notes/documents", headers=accept))
    await until(lambda: services.realtime.connections)
    await owner.delete(SESSION)
    answer = await asyncio.wait_for(streaming, 60)
    assert answer.status_code == 200
    assert "operator_required" in answer.text


async def test_c15_two_cookies_and_one_of_another_host_are_not_read(owner: Console, browse: Browse) -> None:
    cookie = next(iter(owner.http.cookies.jar))
    name, plain = str(cookie.name), str(cookie.name).removeprefix("__Host-")
    for sent in (
        f"{name}={cookie.value}; {name}={cookie.value}",
        f"{name}={cookie.value}; {plain}={'a' * 43}",
        # Without the prefix it is taken from this machine only: a page of a parent domain may have set it.
        f"{plain}={cookie.value}",
    ):
        assert (await browse().get(SESSION, headers={"cookie": sent})).status_code == 401
    assert (await browse().get(SESSION, headers={"cookie": f"a=b; {name}={cookie.value}"})).status_code == 200


async def test_c15_plain_http_from_elsewhere_sets_no_cookie(owner: Console, browse: Browse) -> None:
    plain = {"origin": "http://service.test", "sec-fetch-site": "same-origin", "x-forwarded-proto": "https"}
    for headers in (plain, {"sec-fetch-site": "same-origin"}):
        refused = await Console(browse().http, headers).sign_in()
        assert (refused.status_code, refused.json()["code"]) == (403, "https_required")
        assert "set-cookie" not in refused.headers
    foreign = await Console(browse().http, OF_PAGE | {"origin": "https://evil.example"}).sign_in()
    assert (foreign.status_code, foreign.json()["code"]) == (403, "cross_origin")


async def test_c15_over_http_on_this_machine_the_cookie_has_no_prefix(
    owner: Console, running_app: Any, browse: Browse
) -> None:
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=running_app), base_url="http://127.0.0.1")
    here = Console(http, {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"})
    signed_in = await here.sign_in()
    assert signed_in.headers["set-cookie"].startswith("console_")
    assert "Secure" not in signed_in.headers["set-cookie"]
    assert (await here.get(SESSION)).status_code == 200
