"""The rows of a project's configuration: settings, keys, providers, mail and the audit log."""

import asyncio
from typing import Any

import pytest

from faults.mail_server import mail_server
from service.services import Services
from tests.conftest import Api
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]


def place(api: Api, path: str) -> str:
    return f"/admin/v1/projects/{api.project.id}{path}"


async def actions(owner: Console, api: Api, query: str = "") -> list[str]:
    answer = await owner.get(place(api, f"/audit{query}"))
    assert answer.status_code == 200, answer.text
    return [entry["action"] for entry in answer.json()["entries"]]


async def test_settings_are_read_changed_and_previewed(owner: Console, api: Api) -> None:
    before = await owner.get(place(api, "/settings"))
    assert before.headers["etag"] == '"v1"'
    change = {"settings": {"EVENT_DAYS": 30, "SMTP_URL": "smtps://u:hunter2hunter2@mail.example.com"}}
    dry = await owner.request("PATCH", place(api, "/settings?dry_run=true"), json=change)
    done = await owner.request("PATCH", place(api, "/settings"), json=change, headers={"if-match": '"v1"'})
    assert done.status_code == 200, done.text
    assert done.headers["etag"] == '"v2"'
    assert (done.json()["secrets"], done.json()["settings"]["EVENT_DAYS"]) == (["SMTP_URL"], 30)
    (entry,) = (await owner.get(place(api, "/audit?action=settings.changed"))).json()["entries"]
    assert entry["changes"] == dry.json()["changes"]
    assert entry["changes"] == [
        {"path": ["settings", "EVENT_DAYS"], "before": None, "after": 30},
        {"path": ["settings", "SMTP_URL"], "before": None, "after": "***"},
    ]
    assert (entry["actor"]["kind"], entry["actor"]["name"], entry["status"]) == ("operator", "Olga", 200)
    assert "hunter2" not in done.text + dry.text


async def test_c21_of_two_changes_of_one_version_the_second_is_412(owner: Console, api: Api) -> None:
    both = [{"settings": {"EVENT_DAYS": days}} for days in (30, 31)]
    headers = {"if-match": '"v1"'}
    answers = await asyncio.gather(
        *(owner.request("PATCH", place(api, "/settings"), json=body, headers=headers) for body in both)
    )
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    assert await actions(owner, api, "?action=settings.changed") == ["settings.changed"]


@pytest.mark.parametrize(
    ("given", "loc"),
    [
        ({"EVENT_DAYS": "30"}, ["body", "settings", "EVENT_DAYS"]),
        ({"EVENT_DAYS": 401}, ["body", "settings", "EVENT_DAYS"]),
        ({"__proto__": 1}, ["body", "settings", "__proto__"]),
        ({"$set": 1}, ["body", "settings", "$set"]),
        ({"PRIVATE_ACCOUNTS": True}, ["body", "settings", "PRIVATE_ACCOUNTS"]),
    ],
)
async def test_c18_a_bad_setting_is_422_at_its_path(owner: Console, api: Api, given: Json, loc: list[str]) -> None:
    answer = await owner.request("PATCH", place(api, "/settings"), json={"settings": given})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_error")
    assert answer.json()["detail"][0]["loc"] == loc
    assert await actions(owner, api, "?action=settings.changed") == []


async def test_c18_many_settings_that_are_none_are_refused_in_little_text(owner: Console, api: Api) -> None:
    names = {f"N{number}": number for number in range(40_000)}
    for method, path, body in (
        ("PATCH", place(api, "/settings"), {"settings": names}),
        ("POST", "/admin/v1/projects", {"name": "New", "settings": names}),
        ("PUT", place(api, "/providers/google"), {"settings": dict.fromkeys(names, "x")}),
    ):
        answer = await owner.request(method, path, json=body)
        assert answer.status_code == 422
        assert len(answer.content) < 100_000


async def test_only_owners_change_what_a_project_costs(join: Join, owner: Console, api: Api) -> None:
    admin = await join("admin@example.com", **{api.project.id: "admin"})
    for settings in ({"COLLECTION_LIMIT": 3}, {"TIER": "free"}, {"DAILY_LIMIT": 5, "EVENT_DAYS": 30}):
        refused = await admin.request("PATCH", place(api, "/settings"), json={"settings": settings})
        assert (refused.status_code, refused.json()["needs"]) == (403, "*:deployment:write")
    assert (await admin.request("PATCH", place(api, "/settings"), json={"settings": {"EVENT_DAYS": 30}})).is_success
    assert (await owner.request("PATCH", place(api, "/settings"), json={"settings": {"TIER": "free"}})).is_success
    token = await owner.token("*:config:write")
    pipeline = Console(admin.http, {"authorization": f"Bearer {token}"})
    refused = await pipeline.request("PATCH", place(api, "/settings"), json={"settings": {"COLLECTION_LIMIT": 3}})
    assert refused.json()["needs"] == "*:deployment:write"


async def test_the_schema_of_settings_is_for_every_operator(join: Join, api: Api) -> None:
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    answer = await viewer.get("/admin/v1/settings-schema")
    assert answer.json()["properties"]["EVENT_DAYS"]["x-unit"] == "days"
    presets = (await viewer.get("/admin/v1/provider-presets")).json()["presets"]
    google = next(each for each in presets if each["name"] == "google")
    assert google["schema"]["required"] == ["CLIENT_ID", "CLIENT_SECRET"]
    assert google["schema"]["properties"]["CLIENT_SECRET"]["writeOnly"]


async def test_keys_are_made_listed_rotated_and_revoked(owner: Console, api: Api) -> None:
    made = await owner.post(place(api, "/keys"), {"kind": "secret", "name": "a job"})
    assert made.status_code == 201
    key = made.json()["key"]
    assert (await api.http.get("/auth-collections/users", headers={"x-api-key": key})).status_code == 200
    listed = (await owner.get(place(api, "/keys"))).json()["keys"]
    assert made.json()["id"] in [each["id"] for each in listed]
    assert "ac_" not in str(listed)
    rotated = await owner.post(place(api, "/keys/rotate"))
    assert rotated.status_code == 201
    assert (await api.http.get("/auth-collections/users", headers={"x-api-key": key})).status_code == 401
    publishable = next(each for each in listed if each["kind"] == "publishable")
    assert (await owner.delete(place(api, f"/keys/{publishable['id']}"))).status_code == 204
    gone = await owner.delete(place(api, f"/keys/{publishable['id']}"))
    assert (gone.status_code, gone.json()["code"]) == (404, "key_not_found")
    turned = await owner.post(place(api, "/signing-key/rotate"), {"now": True})
    assert turned.status_code == 200, turned.text
    assert turned.json()["kid"] in turned.text
    text = (await owner.get(place(api, "/audit"))).text
    assert key not in text
    assert await actions(owner, api) == ["signing_key.rotated", "key.revoked", "key.rotated", "key.created"] + (
        ["project.created"] if "project.created" in text else []
    )


async def test_a_bad_key_is_refused(owner: Console, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for body in ({"kind": "secret", "name": ""}, {"kind": "other", "name": "n"}, {"kind": "secret", "name": "\n"}):
        assert (await owner.post(place(api, "/keys"), body)).status_code == 422
    monkeypatch.setattr("service.domain.projects.keys.MAX_KEYS", 2)
    full = await owner.post(place(api, "/keys"), {"kind": "secret", "name": "n"})
    assert (full.status_code, full.json()["code"]) == (409, "key_limit")


async def test_c8_a_key_of_another_project_is_absent(owner: Console, api: Api, services: Services) -> None:
    other, _ = await services.base.admin.create("Other", "other", {})
    made = await owner.post(f"/admin/v1/projects/{other.id}/keys", {"kind": "secret", "name": "n"})
    foreign = await owner.delete(place(api, f"/keys/{made.json()['id']}"))
    absent = await owner.delete(place(api, f"/keys/{'0' * 12}"))
    assert (foreign.status_code, foreign.json()["code"]) == (absent.status_code, absent.json()["code"])
    assert len((await owner.get("/admin/v1/projects/other/keys")).json()["keys"]) == 3


async def test_a_provider_is_set_shown_checked_and_removed(owner: Console, api: Api) -> None:
    body = {"preset": "google", "settings": {"CLIENT_ID": "1", "CLIENT_SECRET": "hunter2hunter2", "SCOPES": "openid"}}
    made = await owner.request("PUT", place(api, "/providers/google"), json=body)
    assert made.status_code == 200, made.text
    assert (made.json()["secrets"], made.json()["settings"]) == (
        ["CLIENT_SECRET"],
        {"CLIENT_ID": "1", "SCOPES": "openid"},
    )
    changed = await owner.request("PUT", place(api, "/providers/google"), json={"settings": {"CLIENT_ID": "2"}})
    assert (changed.json()["secrets"], changed.json()["settings"]) == (["CLIENT_SECRET"], {"CLIENT_ID": "2"})
    assert (await owner.get(place(api, "/providers"))).json()["providers"] == [changed.json()]
    github = {"settings": {"CLIENT_ID": "1", "CLIENT_SECRET": "s"}}
    await owner.request("PUT", place(api, "/providers/github"), json=github)
    checked = await owner.post(place(api, "/providers/github/check"))
    assert checked.json()["ok"] is False
    assert (await owner.delete(place(api, "/providers/google"))).status_code == 204
    assert (await owner.get(place(api, "/providers/google"))).json()["code"] == "provider_not_found"
    assert "hunter2" not in (await owner.get(place(api, "/audit"))).text


async def test_a_fault_of_a_provider_has_its_path(owner: Console, api: Api) -> None:
    for name, body, loc in (
        ("google", {"settings": {}}, ["body", "settings", "CLIENT_ID"]),
        ("google", {"settings": {"CLIENT_ID": "1", "NONE": "1"}}, ["body", "settings", "NONE"]),
        ("google", {"preset": "none", "settings": {}}, ["body", "preset"]),
        ("default", {"preset": "google", "settings": {}}, ["path", "name"]),
    ):
        answer = await owner.request("PUT", place(api, f"/providers/{name}"), json=body)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, loc), answer.text


async def test_a_test_mail_says_what_the_server_said(owner: Console, api: Api, services: Services) -> None:
    async with mail_server() as (handed, port):
        await services.base.admin.change(api.project.id, {"SMTP_URL": f"smtp://127.0.0.1:{port}"})
        services.base.projects.forget_all()
        answer = await owner.post(place(api, "/smtp-test"), {"to": "ann@example.com"})
    assert (answer.status_code, answer.json()["ok"]) == (200, True)
    assert handed.recipients == ["ann@example.com"]
    assert (await owner.post(place(api, "/smtp-test"), {"to": "ann"})).json()["detail"][0]["loc"] == ["body", "to"]


async def test_the_mailbox_has_codes_and_each_read_of_it_an_entry(owner: Console, api: Api, services: Services) -> None:
    await services.base.admin.change(api.project.id, {"EMAIL_VERIFICATION": "optional"})
    services.base.projects.forget_all()
    await api.signup()
    (message,) = (await owner.get(place(api, "/mailbox"))).json()["messages"]
    assert message["code"]
    page = await owner.get(place(api, f"/mailbox/{message['id']}/html"))
    assert page.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert page.headers["cache-control"] == "no-store"
    assert message["code"] in page.text
    absent = await owner.get(place(api, "/mailbox/none/html"))
    assert (absent.status_code, absent.json()["code"]) == (404, "mail_not_found")
    assert await actions(owner, api, "?action=mailbox.read") == ["mailbox.read"] * 3


async def test_a_viewer_reads_the_configuration_and_never_the_mailbox(join: Join, owner: Console, api: Api) -> None:
    await owner.post("/admin/v1/projects", {"name": "Other", "id": "other"})
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    for path in ("/settings", "/keys", "/providers", "/audit"):
        assert (await viewer.get(place(api, path))).status_code == 200
    for method, path, body in (
        ("PATCH", "/settings", {"settings": {}}),
        ("POST", "/keys", {"kind": "secret", "name": "n"}),
        ("POST", "/keys/rotate", None),
        ("PUT", "/providers/google", {"settings": {}}),
        ("POST", "/smtp-test", {"to": "ann@example.com"}),
        ("GET", "/mailbox", None),
    ):
        refused = await viewer.request(method, place(api, path), json=body)
        assert (refused.status_code, refused.json()["needs"]) == (403, f"{api.project.id}:config:write"), path
    assert (await viewer.get("/admin/v1/audit")).json()["needs"] == "*:deployment:read"
    stranger = await join("stranger@example.com", other="admin")
    for path in ("/settings", "/keys", "/audit", "/mailbox"):
        assert (await stranger.get(place(api, path))).json()["code"] == "project_not_found"


async def test_c11_a_session_that_was_not_confirmed_lately_neither_sees_codes_nor_makes_keys(
    owner: Console, api: Api, services: Services
) -> None:
    sessions = services.base.databases.system["operator_sessions"]
    await sessions.update_many({}, [{"$set": {"confirmed_at": {"$subtract": ["$$NOW", 601_000]}}}])
    for method, path, body in (
        ("POST", "/keys", {"kind": "secret", "name": "n"}),
        ("POST", "/keys/rotate", None),
        ("DELETE", f"/keys/{'0' * 12}", None),
        ("POST", "/signing-key/rotate", {}),
        ("GET", "/mailbox", None),
        ("GET", "/mailbox/none/html", None),
    ):
        refused = await owner.request(method, place(api, path), json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required"), path


async def test_owners_read_the_log_of_the_whole_deployment(owner: Console, api: Api) -> None:
    await owner.request("PATCH", place(api, ""), json={"name": "Another"})
    answer = await owner.get(f"/admin/v1/audit?action=project.renamed&target={api.project.id}")
    (entry,) = answer.json()["entries"]
    assert entry["changes"] == [{"path": ["name"], "before": api.project.name, "after": "Another"}]


async def test_the_log_comes_in_pages_and_refuses_what_it_does_not_know(owner: Console, api: Api) -> None:
    for number in range(5):
        await owner.request("PATCH", place(api, ""), json={"name": f"Name {number}"})
    seen, cursor = list[str](), ""
    for _ in range(3):
        page = (await owner.get(place(api, f"/audit?action=project.renamed&limit=2{cursor}"))).json()
        seen += [entry["changes"][0]["after"] for entry in page["entries"]]
        cursor = f"&cursor={page['next']}"
    assert seen == ["Name 4", "Name 3", "Name 2", "Name 1", "Name 0"]
    assert page["next"] is None
    for query in ("limit=0", "limit=201", "action=none", "none=1", "cursor=x", "cursor=%00", "limit=1&limit=2"):
        assert (await owner.get(place(api, f"/audit?{query}"))).status_code == 422, query


async def test_no_endpoint_changes_the_log(owner: Console, api: Api) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in (place(api, "/audit"), place(api, f"/audit/{'0' * 24}"), "/admin/v1/audit"):
            assert (await owner.request(method, path)).status_code in {404, 405}
