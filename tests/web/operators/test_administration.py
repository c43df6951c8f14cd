"""Invitations, operators and tokens, and the environment that decides who reaches them."""

from collections import Counter
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from faults.waiting import until
from service.app import create_app
from service.domain.permissions import list_access
from service.settings import Settings
from tests.conftest import PATIENT, Api
from tests.web.operators.conftest import ORIGIN, PASSWORD, Browse, Console, Join, token_of

OPERATORS, INVITATIONS = "/admin/v1/operators", "/admin/v1/invitations"


async def find_id(owner: Console, email: str) -> str:
    found = (await owner.get(OPERATORS)).json()["operators"]
    return str(next(each["id"] for each in found if each["email"] == email))


async def test_a_second_invitation_of_an_address_replaces_the_first(owner: Console, browse: Browse) -> None:
    first = await owner.post(OPERATORS, {"email": "New@example.com", "roles": {"*": "viewer"}})
    second = await owner.post(OPERATORS, {"email": "new@example.com", "roles": {"*": "editor"}})
    links = [token_of(each.json()["invitation"]["link"]) for each in (first, second)]
    assert len(links[0]) == 43
    checks = [await browse().post(f"{INVITATIONS}/check", {"token": link}) for link in links]
    assert [each.status_code for each in checks] == [404, 200]
    (listed,) = (await owner.get(INVITATIONS)).json()["invitations"]
    assert (listed["email"], listed["roles"], "link" in listed) == ("new@example.com", {"*": "editor"}, False)
    assert (await owner.delete(f"{INVITATIONS}/{listed['id']}")).status_code == 204
    assert (await browse().post(f"{INVITATIONS}/check", {"token": links[1]})).status_code == 404
    assert (await owner.delete(f"{INVITATIONS}/{listed['id']}")).json()["code"] == "invitation_not_found"


async def test_a_known_address_is_not_invited(owner: Console, join: Join) -> None:
    await join("known@example.com", every="viewer")
    taken = await owner.post(OPERATORS, {"email": "KNOWN@example.com", "roles": {"*": "viewer"}})
    assert (taken.status_code, taken.json()["code"]) == (409, "operator_exists")


@pytest.mark.parametrize(
    ("roles", "loc"),
    [
        ({"none": "viewer"}, "none"),
        ({"No Project": "viewer"}, "No Project"),
        ({"*": "king"}, "*"),
        ({"shop": "owner"}, "shop"),
    ],
    ids=["an unknown project", "no id", "an unknown role", "an owner of one project"],
)
async def test_bad_roles_are_refused(owner: Console, roles: dict[str, str], loc: str) -> None:
    refused = await owner.post(OPERATORS, {"email": "new@example.com", "roles": roles})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "roles", loc])
    assert (await owner.get(INVITATIONS)).json() == {"invitations": []}


async def test_a_role_in_a_deleted_project_is_gone(owner: Console, join: Join, make_api: Any, services: Any) -> None:
    api, other = await make_api(), await make_api()
    await join("viewer@example.com", **{api.project.id: "viewer", other.project.id: "viewer"})
    invited = await owner.post(OPERATORS, {"email": "late@example.com", "roles": {api.project.id: "viewer"}})
    await services.base.admin.delete(api.project.id)
    operator = (await owner.get(f"{OPERATORS}/{await find_id(owner, 'viewer@example.com')}")).json()
    assert operator["roles"] == {other.project.id: "viewer"}
    token = token_of(invited.json()["invitation"]["link"])
    assert (await owner.post(f"{INVITATIONS}/check", {"token": token})).status_code == 404


async def test_a_reset_begins_an_account_again(owner: Console, join: Join, browse: Browse, api: Api) -> None:
    console = await join("admin@example.com", **{api.project.id: "admin"})
    token = await console.token(f"{api.project.id}:data:read")
    operator_id = await find_id(owner, "admin@example.com")
    link = (await owner.post(f"{OPERATORS}/{operator_id}/reset", {"hours": 1})).json()["invitation"]["link"]
    assert (await console.get("/admin/v1/session")).status_code == 200
    body = {"token": token_of(link), "name": "Anew", "password": "another long phrase"}
    begun = await browse().post(f"{INVITATIONS}/accept", body)
    assert (begun.status_code, begun.json()["operator"]["name"]) == (201, "Anew")
    assert begun.json()["operator"]["id"] == operator_id
    assert (await console.get("/admin/v1/session")).status_code == 401
    program = Console(browse().http, {"authorization": f"Bearer {token}"})
    assert (await program.get("/admin/v1/projects")).status_code == 401
    assert (await browse().sign_in("admin@example.com", PASSWORD)).status_code == 401


async def test_other_roles_end_the_sessions_and_a_name_does_not(owner: Console, join: Join) -> None:
    console = await join("admin@example.com", every="admin")
    address = f"{OPERATORS}/{await find_id(owner, 'admin@example.com')}"
    for same in ({"name": "Adam"}, {"roles": {"*": "admin"}}, {"disabled": False}):
        assert (await owner.request("PATCH", address, json=same)).status_code == 200
    assert (await console.get("/admin/v1/session")).json()["operator"]["name"] == "Adam"
    await owner.request("PATCH", address, json={"roles": {"*": "editor"}})
    assert (await console.get("/admin/v1/session")).status_code == 401


async def test_a_change_of_ones_own_roles_keeps_the_own_session(owner: Console, join: Join, browse: Browse) -> None:
    await join("second@example.com", every="owner")
    other = browse()
    await other.sign_in()
    address = f"{OPERATORS}/{await find_id(owner, 'owner@example.com')}"
    changed = await owner.request("PATCH", address, json={"roles": {"*": "admin"}})
    assert changed.json()["roles"] == {"*": "admin"}
    assert (await owner.get(OPERATORS)).json()["needs"] == "*:deployment:read"
    assert (await other.get("/admin/v1/session")).status_code == 401


async def test_changes_of_operators_leave_entries_without_secrets(
    owner: Console, join: Join, mongo: MongoClient[dict[str, Any]], database_prefix: str, browse: Browse
) -> None:
    console = await join("admin@example.com", every="admin")
    token = await console.token("*:data:read")
    await browse().sign_in("admin@example.com", "a wrong long phrase")
    await browse().sign_in("nobody@example.com")
    await console.delete("/admin/v1/session")
    address = f"{OPERATORS}/{await find_id(owner, 'admin@example.com')}"
    await owner.request("PATCH", address, json={"roles": {"*": "viewer"}})
    await owner.delete(address)
    log = mongo[f"{database_prefix}system"]["audit"]
    # The entry of a failed sign-in is written beside its answer.
    await until(lambda: log.count_documents({"action": "operator.sign_in_failed"}) == 1)
    entries = list(log.find())
    assert Counter((each["action"], each["actor"]["kind"]) for each in entries) == {
        ("operator.joined", "operator"): 2,
        ("operator.invited", "operator"): 1,
        ("token.created", "operator"): 1,
        ("operator.sign_in_failed", "system"): 1,
        ("operator.signed_out", "operator"): 1,
        ("operator.changed", "operator"): 1,
        ("operator.removed", "operator"): 1,
    }
    text = str(entries)
    assert not [secret for secret in (token, PASSWORD, "nobody@", "#/join/") if secret in text]


@pytest.mark.parametrize(
    "scope", ["shop:data:read", "*:deployment:write", "{}:config:write", "{}:deployment:read", "*:data:read"]
)
async def test_a_token_has_no_scope_that_its_maker_lacks(scope: str, owner: Console, join: Join, api: Api) -> None:
    editor = await join("editor@example.com", **{api.project.id: "editor"})
    body = {"name": "ci", "scopes": [scope.format(api.project.id)], "days": 1}
    refused = await editor.post("/admin/v1/me/tokens", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_exceeded")


async def test_a_tokens_text_is_shown_once(
    owner: Console, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    token = await owner.token("*:data:read", days=2)
    (listed,) = (await owner.get("/admin/v1/me/tokens")).json()["tokens"]
    assert token not in str(listed) + str(list(mongo[f"{database_prefix}system"]["operator_tokens"].find()))
    assert (await owner.delete(f"/admin/v1/me/tokens/{listed['id']}")).status_code == 204
    again = await owner.delete(f"/admin/v1/me/tokens/{listed['id']}")
    assert (again.status_code, again.json()["code"]) == (404, "token_not_found")
    (ended,) = (await owner.get("/admin/v1/me/tokens")).json()["tokens"]
    assert ended["expires_at"] < listed["expires_at"]


async def test_an_operator_has_at_most_50_tokens(
    owner: Console, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    await owner.token("*:data:read")
    tokens = mongo[f"{database_prefix}system"]["operator_tokens"]
    record = tokens.find_one({}) or {}
    tokens.insert_many({**record, "_id": f"{number:064}"} for number in range(49))
    body = {"name": "ci", "scopes": ["*:data:read"], "days": 1}
    refused = await owner.post("/admin/v1/me/tokens", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "token_limit")


async def test_one_sees_ones_own_projects_page_by_page(owner: Console, join: Join, make_api: Any) -> None:
    apis = [await make_api() for _ in range(3)]
    viewer = await join("viewer@example.com", **{each.project.id: "viewer" for each in apis[:2]})
    first = (await viewer.get("/admin/v1/projects?limit=1")).json()
    assert (first["total"], len(first["projects"])) == (2, 1)
    second = (await viewer.get(f"/admin/v1/projects?limit=1&cursor={first['next']}")).json()
    seen = [each["id"] for page in (first, second) for each in page["projects"]]
    assert (sorted(seen), second["next"]) == (sorted(each.project.id for each in apis[:2]), None)
    found = (await owner.get(f"/admin/v1/projects?q={apis[2].project.id.upper()}&sort_by=-created_at")).json()
    assert [(each["id"], each["role"]) for each in found["projects"]] == [(apis[2].project.id, "owner")]
    for bad in ("limit=0", "limit=201", "sort_by=x", "cursor=x", "other=1", "cursor=W10"):
        assert (await viewer.get(f"/admin/v1/projects?{bad}")).status_code == 422, bad


async def test_a_project_is_made_renamed_and_deleted(owner: Console, emptied: None) -> None:
    made = await owner.post("/admin/v1/projects", {"name": "Shop", "id": "shop-of-operators"})
    assert made.status_code == 201
    assert made.json()["api_key"].startswith("ac_")
    taken = await owner.post("/admin/v1/projects", {"name": "Shop", "id": "shop-of-operators"})
    assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
    bad = await owner.post("/admin/v1/projects", {"name": "Shop", "settings": {"LOGIN_LIMIT": "many"}})
    assert bad.json()["detail"][0]["loc"] == ["body", "settings", "LOGIN_LIMIT"]
    place = "/admin/v1/projects/shop-of-operators"
    renamed = await owner.request("PATCH", place, json={"name": "Store"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "Store")
    wrong = await owner.post(f"{place}/deletion", {"confirm": "shop-of-operators"})
    assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, ["body", "confirm"])
    deleted = await owner.post(f"{place}/deletion", {"confirm": "Store"})
    assert (deleted.status_code, deleted.json()) == (202, {"deleting": True})
    assert (await owner.get(place)).status_code == 404


async def test_without_a_console_tokens_alone_open_the_admin_api(
    owner: Console, settings: Settings, browse: Browse
) -> None:
    token = await owner.token("*:data:read")
    app = create_app(settings.model_copy(update={"console": "off"}), PATIENT)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app)
        console = Console(httpx2.AsyncClient(transport=transport, base_url=ORIGIN, cookies=owner.http.cookies))
        unknown = await console.get("/admin/v1/unheard-of")
        for path in ("/admin/v1/session", "/admin/v1/me/sessions"):
            closed = await console.get(path)
            assert (closed.status_code, closed.content) == (404, unknown.content)
        assert (await console.sign_in()).status_code == 404
        assert (await console.get("/admin/v1/projects")).status_code == 401
        program = Console(console.http, {"authorization": f"Bearer {token}"})
        assert (await program.get("/admin/v1/projects")).status_code == 200


async def test_other_networks_find_no_admin_api(owner: Console, settings: Settings) -> None:
    token = await owner.token("*:data:read")
    networks = (ip_network("192.0.2.0/24"), ip_network("2001:db8::7/128"))
    app = create_app(settings.model_copy(update={"admin_networks": networks}), PATIENT)
    async with app.router.lifespan_context(app):
        for address, status in (("192.0.2.9", 200), ("2001:db8::7", 200), ("2001:db8::8", 404), ("127.0.0.1", 404)):
            transport = httpx2.ASGITransport(app=app, client=(address, 1))
            program = Console(
                httpx2.AsyncClient(transport=transport, base_url=ORIGIN), {"authorization": f"Bearer {token}"}
            )
            assert (await program.get("/admin/v1/projects")).status_code == status, address
            unknown = await program.get("/unheard-of")
            for path in ("/admin/v1/session", "/console/"):
                for method in ("OPTIONS", "PATCH"):
                    answer = await program.request(method, path)
                    assert status == 200 or answer.content == unknown.content


async def test_a_path_that_is_no_row_is_not_found_after_the_project(
    owner: Console, join: Join, make_api: Any, browse: Browse
) -> None:
    api, other = await make_api(), await make_api()
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    for path in ("api/nothing", "auth-collections/login", "api/types"):
        found = await viewer.request("PUT", f"/admin/v1/projects/{api.project.id}/{path}")
        assert (found.status_code, found.json()["code"]) == (404, "not_found")
        strange = await viewer.request("PUT", f"/admin/v1/projects/{other.project.id}/{path}")
        assert (strange.status_code, strange.json()["code"]) == (404, "project_not_found")
        nobody = await browse().request("PUT", f"/admin/v1/projects/{api.project.id}/{path}")
        assert nobody.status_code == 401


def test_access_is_the_stronger_of_both_entries() -> None:
    access = list_access({"*": "editor", "shop": "viewer", "blog": "admin"})
    assert access["shop"] == access["*"]
    assert (access["blog"]["config"], access["*"]["config"]) == ("write", "read")
    assert "deployment" not in str(access)
    assert list_access({"*": "owner", "shop": "viewer"})["shop"].get("deployment") is None


async def test_owners_see_the_state_of_the_deployment(owner: Console, join: Join, api: Api) -> None:
    found = (await owner.get("/admin/v1/system")).json()
    assert (found["workers"], found["mongodb"]["topology"]) == (1, "replica set")
    jobs = {each["name"]: each for each in found["jobs"]}
    assert jobs["operators"]["runs"] + jobs["leader"]["runs"] > 0
    checks = {each["name"]: each for each in found["checks"]}
    assert checks["topology"] == {
        "name": "topology",
        "ok": True,
        "detail": "topology: replica set",
        "mend": "transactions need a replica set or a sharded cluster",
    }
    assert checks[f"form of {api.project.id}"]["ok"] is True
    admin = await join("admin@example.com", every="admin")
    assert (await admin.get("/admin/v1/system")).json()["needs"] == "*:deployment:read"
