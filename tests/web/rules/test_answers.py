"""The statements of docs/access.md about answers and fields, beside its examples."""

from typing import Any

import pytest

from tests.conftest import Api, MakeApi
from tests.web.rules.conftest import Person
from tests.web.rules.examples_page import FORBIDDEN, GONE, UNAUTHORIZED, Stage, misplaced, outcome, texts

SCHEMAS: dict[str, Any] = {
    "albums": {"name": {"type": "string"}, "curator_id": {"type": "reference", "collection": "users"}},
    "songs": {
        "title": {"type": "string", "required": True},
        "album_id": {"type": "reference", "collection": "albums"},
        "singer_id": {"type": "reference", "collection": "users"},
        "secret": {"type": "string"},
        "price": {"type": "number"},
        "code": {"type": "string", "unique": True},
        "locked": {"type": "boolean", "default": False},
    },
    "empty": {"title": {"type": "string"}},
    "unnamed": {"title": {"type": "string"}},
}
MINE = {"singer_id_eq": "$user.id"}
RULES: dict[str, Any] = {
    "collections": {
        "albums": {"read": {"curator_id_eq": "$user.id"}},
        "songs": {
            "read": "anyone",
            "create": {"locked_eq": False},
            "update": {"or": [MINE, {"album.name_eq": "$$open"}]},
            "delete": {"title_eq": "old"},
            "fields": {
                "secret": {"read": False},
                "price": {"write": MINE},
                "singer_id": {"write": "server"},
            },
        },
        "empty": {},
    }
}


@pytest.fixture
async def stage(api: Api) -> Stage:
    server, guest = (Person(api, "", {"x-api-key": key}) for key in (api.key, api.publishable_key))
    for name, schema in SCHEMAS.items():
        answer = await server.ask("POST", "/api/collections", json={"name": name, "schema": schema})
        assert answer.status_code == 201, answer.text
    answer = await server.ask("PUT", "/api/rules", json=RULES)
    assert answer.status_code == 200, answer.text
    return Stage(api, server, guest)


async def test_collections_without_rules_are_hidden_or_refused(stage: Stage) -> None:
    ann = await stage.person("ann")
    for name in ("unnamed", "absent"):
        assert outcome(await ann.list(name)) == (404, "collection_not_found")
        assert outcome(await stage.guest.list(name)) == (404, "collection_not_found")
    assert outcome(await ann.list("empty")) == FORBIDDEN
    assert outcome(await stage.guest.create("empty", title="x")) == UNAUTHORIZED


async def test_without_rules_all_is_as_ever(make_api: MakeApi) -> None:
    api = await make_api()
    stage = Stage(api, Person(api, "", {"x-api-key": api.key}), Person(api, "", {"x-api-key": api.publishable_key}))
    ann = await stage.person("ann")
    for person in (ann, stage.guest):
        assert outcome(await person.list("songs")) == (401, "invalid_api_key")
        assert outcome(await person.ask("GET", "/auth-collections/users")) == (401, "invalid_api_key")


async def test_credentials_beside_one_another(stage: Stage, make_api: MakeApi) -> None:
    ann, other = await stage.person("ann"), await make_api()
    path = "/api/collections/empty/documents"
    server, guest = {"x-api-key": stage.api.key}, {"x-api-key": stage.api.publishable_key}
    bad = {"authorization": "Bearer nonsense"}
    assert (await stage.api.http.get(path, headers=server | bad)).status_code == 200
    assert outcome(await stage.api.http.get(path, headers=guest | bad)) == (401, "invalid_token")
    assert outcome(await stage.api.http.get(path, headers=guest | ann.headers)) == FORBIDDEN
    foreign = {"x-api-key": other.publishable_key} | ann.headers
    assert outcome(await stage.api.http.get(path, headers=foreign)) == (401, "invalid_api_key")


async def test_publishable_keys_open_what_rules_open_and_nothing_else(stage: Stage) -> None:
    for path in ("/api/collections", "/api/collections/songs", "/api/rules"):
        assert outcome(await stage.guest.ask("GET", path)) == (403, "secret_key_required")
    assert outcome(await stage.guest.ask("GET", "/auth-collections/user")) == (401, "invalid_token")


async def test_a_refusal_is_401_for_guests_and_403_for_users(stage: Stage) -> None:
    ann, song = await stage.person("ann"), await stage.stored("songs", title="new")
    assert outcome(await ann.delete("songs", song)) == FORBIDDEN
    assert outcome(await stage.guest.delete("songs", song)) == UNAUTHORIZED
    assert outcome(await ann.create("songs", title="x", locked=True)) == FORBIDDEN
    assert outcome(await stage.guest.create("songs", title="x", locked=True)) == UNAUTHORIZED
    assert outcome(await ann.delete("songs", "0" * 24)) == GONE
    assert (await stage.guest.delete("songs", await stage.stored("songs", title="old"))).status_code == 204


@pytest.mark.parametrize("query", ["{}_eq=x", "{}_isnull=true", "sort_by={}"])
async def test_a_hidden_field_has_no_name(stage: Stage, query: str) -> None:
    await stage.stored("songs", title="a", secret="x")
    assert "secret" not in (await stage.guest.list("songs")).json()["documents"][0]["data"]
    hidden, unknown = [await stage.guest.list("songs", "?" + query.format(name)) for name in ("secret", "terces")]
    assert hidden.status_code == 422
    assert hidden.text == unknown.text.replace("terces", "secret")


async def test_relations_show_only_what_can_be_read(stage: Stage) -> None:
    ann, ben = await stage.person("ann"), await stage.person("ben")
    album = await stage.stored("albums", name="First", curator_id=ann.id)
    await stage.stored("songs", title="a", album_id=album)
    for person, shown in ((ann, "First"), (ben, None)):
        document = (await person.list("songs", "?populate=album")).json()["documents"][0]
        assert (document["data"]["album"] or {"data": {"name": None}})["data"]["name"] == shown
    assert texts(await ann.list("songs", "?album.name_eq=First")) == ["a"]
    assert texts(await ben.list("songs", "?album.name_eq=First")) == []
    assert misplaced(await ben.create("songs", title="b", album_id=album)) == [["body", "data", "album_id"]]
    assert (await ann.create("songs", title="b", album_id=album)).status_code == 201


async def test_a_rule_follows_a_relation_with_its_authors_eyes(stage: Stage) -> None:
    ann = await stage.person("ann")
    opened, closed = await stage.stored("albums", name="$open"), await stage.stored("albums", name="closed")
    one, two = (
        await stage.stored("songs", title="a", album_id=opened),
        await stage.stored("songs", title="b", album_id=closed),
    )
    assert (await ann.merge("songs", one, title="c")).status_code == 200
    assert outcome(await ann.merge("songs", two, title="c")) == FORBIDDEN


async def test_a_field_with_a_rule_for_writing(stage: Stage) -> None:
    ann, ben = await stage.person("ann"), await stage.person("ben")
    opened = await stage.stored("albums", name="$open")
    song = await stage.stored("songs", title="a", singer_id=ann.id, album_id=opened, price=1)
    assert (await ann.merge("songs", song, price=2)).status_code == 200
    assert outcome(await ben.merge("songs", song, price=3)) == FORBIDDEN
    assert (await ben.merge("songs", song, title="b")).status_code == 200


async def test_a_put_keeps_what_its_sender_cannot_write_or_see(stage: Stage) -> None:
    ann = await stage.person("ann")
    closed = await stage.stored("albums", name="closed")
    song = await stage.stored("songs", title="a", singer_id=ann.id, secret="s", album_id=closed, price=1)
    replaced = await ann.replace("songs", song, title="b")
    assert replaced.json()["data"] == {"title": "b", "singer_id": ann.id, "locked": False}
    assert (await stage.server.get("songs", song)).json()["data"] == {**replaced.json()["data"], "secret": "s"}
    sent_back = await ann.replace("songs", song, **replaced.json()["data"])
    assert sent_back.status_code == 200
    assert misplaced(await ann.replace("songs", song, title="b", singer_id="0" * 24)) == [["body", "data", "singer_id"]]


async def test_the_twenty_first_taken_value_of_an_hour_stops_writes_to_unique_fields(stage: Stage) -> None:
    ann, ben = await stage.person("ann"), await stage.person("ben")
    await stage.stored("songs", title="a", code="taken")
    for _ in range(20):
        assert outcome(await ann.create("songs", title="b", code="taken")) == (409, "duplicate_value")
    assert outcome(await ann.create("songs", title="b", code="free")) == (429, "rate_limit_exceeded")
    assert (await ann.create("songs", title="b")).status_code == 201
    assert (await ben.create("songs", title="b", code="free")).status_code == 201


async def test_a_put_may_keep_a_reference_that_its_sender_cannot_read(stage: Stage) -> None:
    ann, ben = await stage.person("ann"), await stage.person("ben")
    opened = await stage.stored("albums", name="$open", curator_id=ann.id)
    song = await stage.stored("songs", title="a", singer_id=ben.id, album_id=opened)
    replaced = await ann.replace("songs", song, title="b", album_id=opened)
    assert replaced.status_code == 200, replaced.text
    assert replaced.json()["data"]["singer_id"] == ben.id
