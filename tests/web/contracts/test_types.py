"""`GET /api/types`: the credential, the view, what clients keep, and what is made how often."""

import asyncio
import gzip
import hashlib
import itertools
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from service.bounds import MAX_CONTRACTS_WAITING
from service.contract.model import View
from service.domain import contracts
from service.domain.contracts import ProjectState, Text, WantedText, write_text
from service.errors import Busy
from service.services import Services
from service.storage.definitions import Definitions
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.declared import change, declare, violations

TEXT = {"type": "string"}
BOOKS = {"title": {**TEXT, "required": True}, "secret": TEXT}
RULES = {"collections": {"books": {"read": "anyone", "fields": {"secret": {"read": "users", "write": "server"}}}}}
URL = "/api/types?language=typescript"


async def get(api: Api, query: str = "", key: str = "", **headers: str) -> Any:
    return await api.http.get(f"{URL}{query}", headers={"x-api-key": key or api.key, **headers})


@pytest.fixture
async def books(api: Api) -> Api:
    await declare(api, BOOKS, "books")
    saved = await api.request("PUT", "/api/rules", json=RULES)
    assert saved.status_code == 200, saved.text
    return api


@pytest.mark.parametrize(
    ("language", "name", "line"), [("typescript", "schema.ts", b"//"), ("python", "schema.py", b"#")]
)
async def test_the_answer_is_a_file_under_the_hash_of_its_bytes(
    books: Api, language: str, name: str, line: bytes
) -> None:
    answer = await books.request("GET", f"/api/types?language={language}")
    assert answer.status_code == 200
    assert answer.content.startswith(line + b" auth-collections types 1.")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    assert answer.headers["cache-control"] == "private, no-cache"
    assert {"x-api-key", "accept-encoding"} <= {each.strip().lower() for each in answer.headers["vary"].split(",")}


async def test_k4_each_key_has_the_view_that_it_may_ask_for(books: Api) -> None:
    guest = books.publishable_key
    texts = {query: (await get(books, query)).text for query in ("", "&view=server", "&view=users", "&view=anyone")}
    assert texts[""] == texts["&view=server"] != texts["&view=users"] != texts["&view=anyone"]
    assert ["secret" in text for text in texts.values()] == [True, True, True, False]
    for query in ("", "&view=anyone"):
        assert (await get(books, query, guest)).text == texts["&view=anyone"]
    for query in ("&view=server", "&view=users"):
        refused = await get(books, query, guest)
        assert (refused.status_code, refused.json()["code"]) == (403, "secret_key_required")


async def test_a_user_token_alone_is_no_key(books: Api) -> None:
    token = (await books.signup()).json()["access_token"]
    refused = await books.as_user(token, "GET", URL)
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize(
    ("query", "place", "type_"),
    [
        ("", "language", "missing"),
        ("?language=rust", "language", "enum"),
        ("?language=python&view=all", "view", "enum"),
        ("?language=python&language=python", "language", "repeated"),
        ("?language=python&collections=books", "collections", "extra_forbidden"),
    ],
)
async def test_what_cannot_be_read_is_refused(api: Api, query: str, place: str, type_: str) -> None:
    assert violations(await api.request("GET", f"/api/types{query}")) == [("query", place, type_)]


async def test_a_client_that_has_the_text_is_sent_none(books: Api) -> None:
    etag = (await get(books)).headers["etag"]
    for known in (etag, f'"x", W/{etag}', "*"):
        answer = await get(books, **{"if-none-match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    assert (await get(books, **{"if-none-match": '"x"'})).status_code == 200
    await change(books, {"year": {"type": "integer"}}, name="books")
    answer = await get(books, **{"if-none-match": etag})
    assert answer.status_code == 200
    assert "year?: number;" in answer.text


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip", "gzip"), ("br, GZIP;q=0.5", "gzip"), ("*", "gzip"), ("gzip;q=0", None), ("*;q=0.0", None), ("br", None)],
)
async def test_the_text_is_packed_for_clients_that_unpack(books: Api, accepted: str, coding: str | None) -> None:
    plain = await get(books, **{"accept-encoding": "identity"})
    async with books.http.stream("GET", URL, headers={"x-api-key": books.key, "accept-encoding": accepted}) as answer:
        raw = b"".join([each async for each in answer.aiter_raw()])
    assert answer.headers.get("content-encoding") == coding
    assert (gzip.decompress(raw) if coding else raw) == plain.content
    assert answer.headers["etag"] == plain.headers["etag"]


async def test_head_has_the_headers_alone(books: Api) -> None:
    answer = await books.request("HEAD", URL)
    assert (answer.status_code, answer.headers["etag"]) == (200, (await get(books)).headers["etag"])


async def test_every_request_counts_once_whatever_its_answer(make_api: MakeApi) -> None:
    api = await make_api(DAILY_LIMIT="4")
    known, guest = {"if-none-match": "*"}, api.publishable_key
    answers = [await get(api), await get(api, **known), await get(api, "&view=x"), await get(api, "&view=users", guest)]
    assert [answer.status_code for answer in answers] == [200, 304, 422, 403]
    assert (await get(api)).status_code == 429


async def test_k5_rules_that_are_saved_change_the_view_at_once(books: Api) -> None:
    assert "secret" not in (await get(books, "&view=anyone")).text
    await books.request("PUT", "/api/rules", json={"collections": {"books": {"read": "anyone"}}})
    assert "secret" in (await get(books, "&view=anyone")).text
    await books.request("DELETE", "/api/collections/books")
    assert "Books" not in (await get(books)).text


async def test_k4_equal_projects_have_equal_bytes(books: Api, make_api: MakeApi) -> None:
    other = await make_api()
    await declare(other, BOOKS, "books")
    assert (await get(other)).content == (await get(books)).content


async def test_many_requests_at_once_have_one_text_made(books: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ProjectState] = []

    def count(state: ProjectState, wanted: WantedText) -> Text:
        made.append(state)
        return write_text(state, wanted)

    monkeypatch.setattr(contracts, "write_text", count)
    answers = await asyncio.gather(*(get(books) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(made) == 1


async def test_a_kept_text_costs_two_small_reads(books: Api, commands: CommandRecorder) -> None:
    await get(books)
    commands.commands.clear()
    await get(books)
    assert sorted(commands.work) == ["aggregate", "aggregate"]


async def test_one_text_is_made_at_once_and_few_wait(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, running, most = threading.Event(), itertools.count(), int(MAX_CONTRACTS_WAITING)

    def wait(_: ProjectState, wanted: WantedText) -> Text:
        next(running)
        goes_on.wait()
        return Text(b"", b"", wanted.kind)

    monkeypatch.setattr(contracts, "write_text", wait)
    asked = [WantedText(f"kind {number}", View.SERVER, lambda _: b"") for number in range(most + 2)]
    tasks = [asyncio.ensure_future(services.contracts.find(api.project, each)) for each in asked]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    try:
        assert [type(each.exception()) for each in done] == [Busy]
        assert next(running) <= 1
    finally:
        goes_on.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(each, Text) for each in found) == most + 1


async def test_k5_an_answer_is_of_one_state_while_rules_and_schemas_change(
    books: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the reading of the rules and that of the schemas a field is declared, and hidden by new rules."""
    read = Definitions.schemas
    changes = iter([{"hidden": TEXT}])

    async def change_meanwhile(self: Definitions, names: Iterable[str]) -> Any:
        for schema in changes:
            assert (await change(books, schema, name="books")).status_code == 200
            fields = {"hidden": {"read": "users", "write": "server"}}
            rules = {"collections": {"books": {"read": "anyone", "fields": fields}}}
            assert (await books.request("PUT", "/api/rules", json=rules)).status_code == 200
        return await read(self, names)

    monkeypatch.setattr(Definitions, "schemas", change_meanwhile)
    text = (await get(books, "&view=anyone")).text
    # By the first state alone `secret` is hidden, and by the second alone `hidden` is.
    assert "secret" in text
    assert "hidden" not in text
