"""`GET /api/openapi.json`: the project's document over HTTP, and its copy in the Admin API."""

from typing import Any

import pytest

from service.domain import contracts
from service.domain.contracts import ProjectState, Text, WantedText, write_text
from tests.conftest import Api
from tests.declared import change, declare, violations

TEXT = {"type": "string"}
RULES = {"collections": {"books": {"read": "anyone", "fields": {"secret": {"read": "users", "write": "server"}}}}}
URL = "/api/openapi.json"


@pytest.fixture
async def books(api: Api) -> Api:
    await declare(api, {"name": TEXT}, "authors")
    await declare(
        api, {"title": TEXT, "secret": TEXT, "author_id": {"type": "reference", "collection": "authors"}}, "books"
    )
    saved = await api.request("PUT", "/api/rules", json=RULES)
    assert saved.status_code == 200, saved.text
    return api


async def paths(api: Api, query: str = "", **headers: str) -> set[str]:
    answer = await api.http.get(f"{URL}{query}", headers={"x-api-key": api.key, **headers})
    assert answer.status_code == 200, answer.text
    return {path for path in answer.json()["paths"] if path.endswith("/documents")}


async def test_a_document_has_the_collections_of_its_view(books: Api) -> None:
    both = {"/api/collections/authors/documents", "/api/collections/books/documents"}
    assert await paths(books) == both
    assert await paths(books, "?view=anyone") == both - {"/api/collections/authors/documents"}
    assert await paths(books, "?collections=books") == both - {"/api/collections/authors/documents"}
    guest = {"x-api-key": books.publishable_key}
    assert await paths(books, **guest) == await paths(books, "?view=anyone")
    answer = await books.request("GET", URL)
    assert answer.json()["servers"] == [{"url": "http://service.test"}]
    assert answer.headers["content-type"] == "application/json"
    known = {"if-none-match": answer.headers["etag"]}
    assert (await books.request("GET", URL, headers=known)).status_code == 304
    await change(books, {"year": {"type": "integer"}}, name="books")
    changed = await books.request("GET", URL, headers=known)
    assert "year_gte" in changed.json()["components"]["schemas"]["BooksFilters"]["properties"]


@pytest.mark.parametrize("names", ["nothing", "books,nothing"])
async def test_a_collection_that_the_view_lacks_is_not_found(books: Api, names: str) -> None:
    refused = await books.request("GET", f"{URL}?collections={names}")
    assert (refused.status_code, refused.json()["code"]) == (404, "collection_not_found")
    guest = {"x-api-key": books.publishable_key}
    hidden = await books.http.get(f"{URL}?collections=authors", headers=guest)
    assert (hidden.status_code, hidden.json()["code"]) == (404, "collection_not_found")


@pytest.mark.parametrize("names", ["", "books,", "books,books", ",".join(f"c{number}" for number in range(51))])
async def test_names_that_cannot_be_read_are_refused_before_any_is_looked_up(api: Api, names: str) -> None:
    refused = await api.request("GET", f"{URL}?collections={names}")
    assert [loc for *loc, _ in violations(refused)] == [["query", "collections"]]


async def test_a_document_that_is_too_large_is_refused_and_not_made_again(
    books: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ProjectState] = []

    def count(state: ProjectState, wanted: WantedText) -> Text:
        made.append(state)
        return write_text(state, wanted)

    monkeypatch.setattr(contracts, "write_text", count)
    monkeypatch.setattr("service.contract.written.MAX_CONTRACT_BYTES", 10_000)
    for _ in range(3):
        refused = await books.request("GET", URL)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert "collections=" in refused.json()["detail"]
    assert len(made) == 1


async def test_names_of_no_collection_cost_no_document(books: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contracts, "write_text", lambda *_: pytest.fail("was made"))
    assert (await books.request("GET", f"{URL}?collections=nothing")).status_code == 404


async def test_many_parameters_are_refused_at_once(api: Api) -> None:
    refused = await api.request("GET", f"{URL}?view=x&language=python")
    assert {each[1] for each in violations(refused)} == {"view", "language"}


async def test_k4_projects_that_differ_where_guests_never_come_have_equal_documents(books: Api, make_api: Any) -> None:
    other: Api = await make_api()
    await declare(other, {"title": TEXT, "price": {"type": "number"}}, "books")
    await declare(other, {"name": TEXT}, "makers")
    hidden = {"price": {"read": "users", "write": "server"}}
    rules = {"collections": {"books": {"read": "anyone", "fields": hidden}, "makers": {"create": "users"}}}
    assert (await other.request("PUT", "/api/rules", json=rules)).status_code == 200
    answers = [await each.http.get(URL, headers={"x-api-key": each.publishable_key}) for each in (books, other)]
    assert answers[0].content == answers[1].content
    assert answers[0].headers["etag"] == answers[1].headers["etag"]
