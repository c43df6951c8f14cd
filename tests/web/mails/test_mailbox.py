"""The mailbox of those who develop: there for this machine only (row E14), and what is never in a list."""

from typing import Any

import httpx2
import pytest

from service.app import Application
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, newest

HERE = "http://127.0.0.1:8000"


@pytest.fixture
def shown(running_app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_app, "shows_mailbox", True)


def client(app: Application, peer: str = "127.0.0.1", base: str = HERE) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app, client=(peer, 1)), base_url=base)


async def test_the_mailbox_shows_what_was_kept(shown: None, running_app: Application, api: Api) -> None:
    await api.signup()
    asked = await ask(api, "verify-email", email="ann@example.com")
    async with client(running_app) as http:
        (message,) = (await http.get("/mailbox/messages")).json()["messages"]
        pages = [await http.get(path) for path in ("/mailbox", "/mailbox/mailbox.js", "/mailbox/mailbox.css")]
    assert message["id"] == asked.json()["flow_id"]
    assert message.keys() == {"id", "to", "subject", "text", "html", "kind", "code", "link", "created_at"}
    assert (message["to"], message["kind"]) == ("ann@example.com", "verify_email")
    assert message["code"] in message["text"]
    assert message["link"] in message["html"]
    assert [page.status_code for page in pages] == [200] * 3
    assert "frame-ancestors 'none'" in pages[0].headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/mailbox", "/mailbox/messages", "/mailbox/mailbox.js"])
@pytest.mark.parametrize(
    ("peer", "base", "headers"),
    [
        ("192.0.2.1", HERE, {}),
        ("127.0.0.1", "http://rebound.example:8000", {}),
        ("127.0.0.1", HERE, {"x-forwarded-for": "192.0.2.1"}),
        ("127.0.0.1", HERE, {"forwarded": "for=127.0.0.1"}),
    ],
    ids=["remote", "foreign Host", "behind a proxy", "behind another"],
)
async def test_e14_there_is_no_mailbox_for_others(
    shown: None, running_app: Application, path: str, peer: str, base: str, headers: dict[str, str]
) -> None:
    async with client(running_app, peer, base) as http:
        answer = await http.get(path, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_e14_a_page_of_another_origin_reads_no_mail(
    shown: None, running_app: Application, make_api: MakeApi
) -> None:
    await make_api(CORS_ORIGINS="*")
    async with client(running_app) as http:
        for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert (await http.get("/mailbox/messages", headers=headers)).status_code == 404


@pytest.mark.parametrize("path", ["/mailbox", "/mailbox/messages", "/mailbox/mailbox.js"])
async def test_e14_there_is_no_mailbox_where_mongodb_is_not_embedded(running_app: Application, path: str) -> None:
    async with client(running_app) as http:
        assert (await http.get(path)).status_code == 404


async def test_a_list_never_has_a_code_a_link_or_a_text(api: Api, services: Services) -> None:
    await api.signup()
    await ask(api, "verify-email", email="ann@example.com")
    mail = await newest(services, api)
    listed = await api.request("GET", "/auth-collections/mails?limit=10")
    body = listed.json()
    assert body.keys() == {"mails", "total", "limit", "offset"}
    (entry,) = body["mails"]
    created_at = entry.pop("created_at")
    assert created_at.endswith("Z")
    assert entry == {"id": mail.id, "to": "ann@example.com", "kind": "verify_email", "status": "kept", "attempts": 0}
    assert mail.link.partition("?t=")[2] not in listed.text


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "offset=-1", "kind=x", "limit=1&limit=2"])
async def test_a_bad_page_is_refused(api: Api, query: str) -> None:
    assert (await api.request("GET", f"/auth-collections/mails?{query}")).status_code == 422


async def test_the_mails_of_another_project_are_not_there(make_api: MakeApi, services: Services) -> None:
    api, other = await make_api(), await make_api()
    await api.signup()
    await ask(api, "verify-email", email="ann@example.com")
    mail = await newest(services, api)
    assert (await other.request("GET", "/auth-collections/mails")).json()["total"] == 0
    assert (await other.request("POST", f"/auth-collections/mails/{mail.id}/retry")).status_code == 404


async def test_a_deleted_projects_flows_go_with_it(api: Api, services: Services, mongo: Any) -> None:
    await api.signup()
    await ask(api, "verify-email", email="ann@example.com")
    await services.base.admin.delete(api.project.id)
    assert (
        mongo[f"{services.base.databases.prefix}system"]["flows"].count_documents({"project_id": api.project.id}) == 0
    )
