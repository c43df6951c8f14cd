"""Protected files of documents: row X14."""

from typing import Any

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, data_part, file_part, form, stored
from service.domain.files import FILE_URLS
from service.domain.files.signed_urls import FilePlace, UrlSigner
from service.domain.projects.secrets import derive_key
from service.settings import Settings
from tests.conftest import BASE_URL, Api
from tests.declared import declare
from tests.web.rules.conftest import Person, guest_of, save, sign_up

DOCUMENTS = "/api/collections/letters/documents"
SIGN = "/api/files/sign"
SCHEMA: dict[str, Any] = {
    "title": {"type": "string", "index": True},
    "owner_id": {"type": "reference", "collection": "users"},
    "scan": {"type": "file", "protected": True, "nullable": True},
    "drafts": {"type": "array", "items": {"type": "file", "protected": True}},
    "stamp": {"type": "file"},
}
OWN = {"owner_id_eq": "$user.id"}
RULES: dict[str, Any] = {
    "collections": {
        "letters": {
            "read": OWN,
            "create": "users",
            "update": OWN,
            "delete": OWN,
            "fields": {"owner_id": {"set": "$user.id", "write": "create"}, "drafts": {"read": False}},
        }
    }
}


async def create(api: Api, *parts: bytes, **data: Any) -> dict[str, Any]:
    body = form(data_part(data), *(parts or (file_part("scan"), file_part("stamp"))))
    answer = await api.request("POST", DOCUMENTS, content=body, headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def get(api: Api, url: str, **headers: str) -> httpx2.Response:
    return await api.http.get(url.removeprefix(BASE_URL), headers=headers)


def bare(url: str) -> str:
    return url.partition("?")[0]


async def assert_hidden(api: Api, url: str) -> None:
    """The answer is that of a file which does not exist."""
    answer, other = await get(api, url), await get(api, f"/files/{api.project.id}-{'0' * 32}.png")
    assert (answer.status_code, answer.content) == (404, other.content)


@pytest.fixture
async def letters(api: Api) -> Api:
    await declare(api, SCHEMA, "letters")
    return api


@pytest.fixture
def signer(settings: Settings) -> UrlSigner:
    return UrlSigner(derive_key(settings.secret, FILE_URLS), window=settings.file_url_window)


async def test_x14_a_shown_url_opens_the_file_and_the_bare_one_does_not(letters: Api) -> None:
    data = (await create(letters))["data"]
    answer = await get(letters, data["scan"])
    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["cache-control"].startswith("private, max-age=")
    await assert_hidden(letters, bare(data["scan"]))
    assert "?" not in data["stamp"]
    assert (await get(letters, data["stamp"])).status_code == 200


async def test_x14_every_answer_signs(letters: Api) -> None:
    """Documents, lists, what is populated, values and groups; an export has bare URLs. Within a window they stay equal."""
    made = await create(letters, file_part("scan"), file_part("drafts"), file_part("drafts"), title="a")
    url, id_ = made["data"]["scan"], made["id"]
    await declare(letters, {"letter_id": {"type": "reference", "collection": "letters"}}, "replies")
    reply = {"data": {"letter_id": id_}}
    await letters.request("POST", "/api/collections/replies/documents", json=reply)
    path = "/api/collections/letters"
    one = (await letters.request("GET", f"{DOCUMENTS}/{id_}")).json()
    listed = (await letters.request("GET", f"{DOCUMENTS}?fields=scan,drafts")).json()["documents"][0]
    populated = (await letters.request("GET", "/api/collections/replies/documents?populate=letter")).json()
    changed = (await letters.request("PATCH", f"{DOCUMENTS}/{id_}", json={"data": {"title": "a"}})).json()
    operations = [{"op": "get", "collection": "letters", "id": id_}]
    batch = (await letters.request("POST", "/api/batch", json={"operations": operations})).json()
    shown = [one, listed, populated["documents"][0]["data"]["letter"], changed, batch["results"][0]["document"]]
    for each in shown:
        assert [bare(link) for link in each["data"]["drafts"]] == [bare(link) for link in made["data"]["drafts"]]
        for link in (each["data"]["scan"], *each["data"]["drafts"]):
            assert (await get(letters, link)).status_code == 200
    (value,) = (await letters.request("GET", f"{path}/distinct?field=scan")).json()["values"]
    body = {"group": {"scan": "scan"}, "values": {"last": {"max": "scan"}}}
    (row,) = (await letters.request("POST", f"{path}/aggregate", json=body)).json()["rows"]
    for link in (value, row["scan"], row["last"]):
        assert bare(link) == bare(url)
        assert (await get(letters, link)).status_code == 200
    exported = (await letters.request("GET", f"{path}/export")).json()
    assert exported["data"]["scan"] == bare(url)


async def test_x14_a_conditional_read_gives_fresh_urls(letters: Api) -> None:
    document = await create(letters)
    read = f"{DOCUMENTS}/{document['id']}"
    assert (await letters.request("GET", read, headers={"if-none-match": '"v1"'})).status_code == 200
    await letters.request("PATCH", read, json={"data": {"scan": None}})
    assert (await letters.request("GET", read, headers={"if-none-match": '"v2"'})).status_code == 304


@pytest.mark.parametrize("wrong", ["owner", "field", "collection", "name", "project", "user"])
async def test_x14_a_link_of_another_place_opens_nothing(letters: Api, signer: UrlSigner, wrong: str) -> None:
    document = await create(letters)
    name = bare(document["data"]["scan"]).rpartition("/")[2]
    place = {
        "project_id": letters.project.id,
        "name": name,
        "owner": document["id"],
        "field": "scan",
        "collection": "letters",
    }
    prefix = f"{BASE_URL}/files/{name}"
    assert (await get(letters, prefix + signer.sign(FilePlace(**place)))).status_code == 200
    key = {"project": "project_id", "user": "collection"}.get(wrong, wrong)
    other = FilePlace(**{**place, key: "" if wrong == "user" else "others"})
    await assert_hidden(letters, prefix + signer.sign(other))


async def test_x14_an_expired_or_altered_link_opens_nothing(letters: Api, settings: Settings) -> None:
    document = await create(letters)
    url = document["data"]["scan"]
    name = bare(url).rpartition("/")[2]
    place = FilePlace(letters.project.id, name, document["id"], "scan", "letters")
    past = UrlSigner(derive_key(settings.secret, FILE_URLS), window=settings.file_url_window, clock=lambda: 1e9)
    await assert_hidden(letters, bare(url) + past.sign(place))
    await assert_hidden(letters, url.replace("expires=1", "expires=2"))
    await assert_hidden(letters, url[:-1] + ("A" if url[-1] != "A" else "B"))
    await assert_hidden(letters, url.partition("&")[0])


async def test_x14_a_url_that_is_sent_back_is_the_same_file(letters: Api) -> None:
    document = await create(letters)
    read = f"{DOCUMENTS}/{document['id']}"
    for body in ({"data": document["data"]}, {"data": {"scan": bare(document["data"]["scan"])}}):
        answer = await letters.request("PATCH", read, json=body)
        assert answer.status_code == 200
        assert (await get(letters, answer.json()["data"]["scan"])).status_code == 200
    assert stored(letters.database)["files.files"] == 2


async def test_x14_protection_follows_the_definition(letters: Api) -> None:
    """It holds for files from before, and ends with the definition."""
    data = (await create(letters))["data"]
    schema = {"scan": {**SCHEMA["scan"], "protected": False}, "stamp": {"type": "file", "protected": True}}
    answer = await letters.request("PATCH", "/api/collections/letters", json={"schema": schema})
    assert answer.status_code == 200
    assert (await get(letters, bare(data["scan"]))).status_code == 200
    await assert_hidden(letters, data["stamp"])


class TestSigning:
    async def test_by_the_secret_key(self, letters: Api) -> None:
        data = (await create(letters))["data"]
        urls = [bare(data["scan"]), data["scan"], data["stamp"]]
        signed = (await letters.request("POST", SIGN, json={"urls": urls, "expires_in": 60})).json()["urls"]
        assert list(signed) == urls
        for link in signed.values():
            assert (await get(letters, link)).status_code == 200

    async def test_by_users_of_what_they_may_read(self, letters: Api) -> None:
        assert (await save(letters, RULES)).status_code == 200
        ann, bob = await sign_up(letters, "ann"), await sign_up(letters, "bob")
        data = (await create(letters, owner_id=ann.id))["data"]
        hidden = (await create(letters, file_part("drafts"), owner_id=ann.id))["data"]["drafts"][0]
        assert await self._sign(ann, data["scan"]) == 200
        assert await self._sign(ann, data["scan"], data["stamp"]) == 200
        assert await self._sign(bob, data["scan"]) == 404
        assert await self._sign(ann, data["scan"], hidden) == 404
        await save(letters, {"collections": {}})
        assert await self._sign(ann, data["scan"]) == 404

    async def _sign(self, person: Person, *urls: str) -> int:
        return int((await person.ask("POST", SIGN, json={"urls": list(urls), "expires_in": 60})).status_code)


class TestByRule:
    async def test_a_user_keeps_files_that_nobody_else_sees(self, letters: Api) -> None:
        assert (await save(letters, RULES)).status_code == 200
        ann, bob, guest = await sign_up(letters, "ann"), await sign_up(letters, "bob"), guest_of(letters)
        made = await self._send(ann, "POST", DOCUMENTS)
        assert made.status_code == 201, made.text
        data = made.json()["data"]
        assert data["owner_id"] == ann.id
        assert (await get(letters, data["scan"])).status_code == 200
        path = f"{DOCUMENTS}/{made.json()['id']}"
        assert (await bob.ask("GET", path)).status_code == 404
        for person, code in ((bob, 404), (guest, 401)):
            assert (await self._send(person, "PATCH", path)).status_code == code
        kept = await ann.ask("PUT", path, json={"data": {"scan": data["scan"], "owner_id": ann.id}})
        assert (kept.status_code, bare(kept.json()["data"]["scan"])) == (200, bare(data["scan"]))
        assert stored(letters.database)["files.files"] == 1
        assert (await self._send(ann, "PATCH", path)).status_code == 200
        assert stored(letters.database)["files.files"] == 1
        await ann.ask("DELETE", path)
        assert {name for name in stored(letters.database) if name != "users"} == set()

    async def test_x14_what_one_may_not_write_is_refused_and_leaves_nothing(self, letters: Api) -> None:
        rules = {
            **RULES["collections"]["letters"],
            "fields": {**RULES["collections"]["letters"]["fields"], "scan": {"write": "server"}},
        }
        answer = await save(letters, {"collections": {"letters": rules}})
        assert answer.status_code == 200, answer.text
        ann = await sign_up(letters, "ann")
        refused = await self._send(ann, "POST", DOCUMENTS)
        assert refused.status_code in {403, 422}, refused.text
        assert {name for name in stored(letters.database) if name != "users"} == set()

    async def _send(self, person: Person, method: str, path: str) -> Any:
        return await person.ask(method, path, content=form(file_part("scan")), headers=FORM_TYPE)
