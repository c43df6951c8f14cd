"""Documents through the client, in both colours, at a running service."""

import io
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from auth_collections_client import (
    ConfigurationError,
    ConflictError,
    File,
    NotFoundError,
    ValidationError,
    raw,
    variant,
)
from faults.samples import PNG
from tests.served.clients.python.conftest import Make


async def gathered(found: Any) -> list[Any]:
    return [each async for each in found]


async def test_a_document_lives_from_its_creation_to_its_end(make: Make, name: str) -> None:
    books = make().collection("books")
    made = await books.create({"title": name, "stock": 3, "published": datetime(2026, 1, 31, 12, tzinfo=UTC)})
    assert (made.version, made.data["published"]) == (1, "2026-01-31T12:00:00.000Z")
    assert (await books.get(made.id)) == made
    changed = await books.update(made.id, {"tags": ["a"]}, increment={"stock": -1}, where={"stock_gte": 1})
    assert (changed.version, changed.data["stock"], changed.data["tags"]) == (2, 2, ["a"])
    replaced = await books.replace(made.id, {"title": name}, if_match=2)
    assert (replaced.version, replaced.data) == (3, {"title": name, "stock": 0})
    with pytest.raises(ConflictError) as stale:
        await books.replace(made.id, {"title": name}, if_match=2)
    assert (stale.value.code, stale.value.current, stale.value.outcome) == ("version_conflict", 3, "refused")
    upserted = await books.upsert({"title": name, "stock": 9}, by="title", on_conflict="merge")
    assert (upserted.id, upserted.data["stock"]) == (made.id, 9)
    await books.delete(made.id)
    with pytest.raises(NotFoundError):
        await books.get(made.id, fields=["title"])


async def test_lists_know_conditions_relations_fields_pages_and_counts(make: Make, name: str) -> None:
    books = make().collection("books")
    first = await books.create({"title": f"{name}-0"})
    for number in range(1, 6):
        await books.create({"title": f"{name}-{number}", "stock": number, "series_id": first.id})
    inside = {"series": {"title_eq": f"{name}-0"}}
    page = await books.list(
        where=inside, populate="series", fields=["title", "series.title"], sort_by="-stock", limit=2
    )
    assert (page.total, page.limit, [each.data["title"] for each in page.documents]) == (
        5,
        2,
        [f"{name}-5", f"{name}-4"],
    )
    assert page.documents[0].data["series"] == {"id": first.id, "data": {"title": f"{name}-0"}}
    either = {"or": [{"stock_gte": 5}, {"not": inside}], "title_startswith": name}
    assert {each.data["stock"] async for each in books.each(where=either)} == {0, 5}
    assert len(await gathered(books.each(where=raw({"series.title_eq": f"{name}-0"}), limit=3))) == 3
    assert await books.count(where=inside) == 5
    assert (await books.first(where=inside, sort_by=["-stock"])).data["stock"] == 5
    assert await books.first(where={"title_eq": "nothing"}) is None
    assert (await books.get(first.id, fields="title")).data == {"title": f"{name}-0"}


async def test_each_goes_on_past_one_page(make: Make, name: str) -> None:
    books = make().collection("books")
    answer = await books.import_rows([{"title": f"{name}-{number}", "stock": number} for number in range(405)])
    assert answer["created"] == 405
    found = [each.data["stock"] async for each in books.each(where={"title_startswith": name}, sort_by="stock")]
    assert found == list(range(405))
    counted = await books.update_many(where={"title_startswith": name}, data={"tags": ["x"]}, dry_run=True)
    done = await books.update_many(where={"title_startswith": name}, data={"tags": ["x"]}, expect=counted["matched"])
    assert done == {"matched": 405, "changed": 405, "next": None}
    with pytest.raises(ConflictError) as changed:
        await books.delete_many(where={"title_startswith": name}, expect=1)
    assert (changed.value.code, changed.value.matched, changed.value.changed) == ("count_changed", 405, 0)
    assert (await books.delete_many(where={"title_startswith": name}, expect=405))["changed"] == 405


async def test_rows_come_out_as_they_went_in(make: Make, name: str) -> None:
    books = make().collection("books")
    assert (await books.import_rows(f"title,stock\r\n{name}-a,1\r\n{name}-b,2\r\n", format="csv"))["created"] == 2
    text = b"".join(await gathered(books.export_rows(where={"title_startswith": name}, format="csv"))).decode()
    assert text.splitlines()[1:] == [f"{name}-a,1,,,,,", f"{name}-b,2,,,,,"]
    lines = b"".join(await gathered(books.export_rows(where={"title_startswith": name})))
    again = await books.import_rows(lines, format="ndjson", mode="upsert", by="title")
    assert (again["created"], again["updated"]) == (0, 2)
    with pytest.raises(ConfigurationError, match="format"):
        await books.import_rows(lines)


async def test_values_are_distinct_and_aggregated(make: Make, name: str) -> None:
    server = make()
    books = server.collection("books")
    await books.import_rows([{"title": f"{name}-{number}", "stock": number % 2} for number in range(4)])
    mine = {"title_startswith": name}
    assert await books.distinct("stock", where=mine) == {"values": [0, 1], "truncated": False}
    rows = (await books.aggregate(where=mine, group={"stock": "stock"}, values={"n": "count"}, sort_by="-stock"))[
        "rows"
    ]
    assert rows == [{"stock": 1, "n": 2}, {"stock": 0, "n": 2}]
    grouped = {"where": {"title_startswith": name, "stock_gte": "$least"}, "values": {"n": "count"}}
    saved = {"collection": "books", "aggregate": grouped, "parameters": {"least": {"type": "integer"}}}
    await server.admin.aggregations.save(name, saved)
    assert (await server.run_aggregation(name, least=1))["rows"] == [{"n": 2}]
    await server.admin.aggregations.delete(name)


async def test_files_are_uploaded_with_a_progress_and_kept_by_their_urls(make: Make, name: str, tmp_path: Path) -> None:
    server = make()
    books = server.collection("books")
    (tmp_path / "a.png").write_bytes(PNG)
    told: list[tuple[int, int]] = []
    data = {
        "title": name,
        "cover": File("a.png", tmp_path / "a.png"),
        "pages": [File("1.png", io.BytesIO(PNG)), File("2.png", PNG)],
    }
    made = await books.create(data, on_progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    kept = made.data["pages"][1]
    changed = await books.update(made.id, {"pages": [kept, File("3.png", PNG)]})
    assert (len(changed.data["pages"]), changed.data["pages"][0]) == (2, kept)
    url = made.data["cover"]
    signed = (await server.sign_urls([url], 60))[url]
    assert (signed.startswith(url), variant(signed, "thumb").endswith("&variant=thumb")) == (True, True)
    with pytest.raises(ConfigurationError, match="without operators"):
        await books.update(made.id, {"cover": File("a.png", PNG)}, increment={"stock": 1})


async def test_a_batch_is_sent_at_the_end_of_its_block(make: Make, name: str) -> None:
    server = make()
    async with server.batch() as batch:
        first = batch.collection("books").create({"title": f"{name}-a"})
        batch.collection("books").create({"title": f"{name}-b", "series_id": first})
        batch.collection("books").update(first, increment={"stock": 2})
    results = batch.results
    assert [each["status"] for each in results] == [201, 201, 200]
    assert results[1]["document"]["data"]["series_id"] == results[0]["document"]["id"]
    with pytest.raises(ConfigurationError, match="inside that batch"):
        await server.collection("books").create({"title": name, "series_id": first})
    with suppress(RuntimeError):
        async with server.batch() as abandoned:
            abandoned.collection("books").create({"title": f"{name}-c"})
            raise RuntimeError("mine")
    assert await server.collection("books").count(where={"title_startswith": name}) == 2


async def test_a_refusal_says_where_and_keeps_nothing(make: Make, name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        await make("guest").collection("books").create({"titel": name})
    assert refused.value.at("title") == "This field is required"
    assert (refused.value.outcome, refused.value.status) == ("refused", 422)
    with pytest.raises(ConfigurationError, match="time zone"):
        await make().collection("books").list(where={"published_gt": datetime(2026, 1, 1)})  # noqa: DTZ001 - a naive one


class Book:
    """A model with the two methods of pydantic that the client calls."""

    def __init__(self, title: str) -> None:
        self.title = title

    @classmethod
    def model_validate(cls, data: Any) -> "Book":
        return cls(data["title"])

    def model_dump(self, *, mode: str, exclude_unset: bool) -> dict[str, Any]:
        assert (mode, exclude_unset) == ("json", True)
        return {"title": self.title}


async def test_a_model_is_made_of_rows_and_sent_as_data(make: Make, name: str) -> None:
    books = make().collection("books", model=Book)
    made = await books.create(Book(name))
    assert (made.data.title, (await books.get(made.id)).data.title) == (name, name)
