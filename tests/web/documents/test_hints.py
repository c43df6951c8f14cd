"""F28 and F29: refusals that say what the sender meant, and never name what the sender may not see."""

import time
from typing import Any

import pytest

from service.schema.nearest import HINTED_CHARACTERS, HINTED_NAMES, describe_nearest
from tests.conftest import Api
from tests.declared import declare
from tests.web.rules.conftest import save

USER = "/auth-collections/user"
PATH, SIGNUP, USERS = "/api/collections/books/documents", "/auth-collections/signup", "/auth-collections/users"
BOARDS = {"name": {"type": "string"}, "owner_id": {"type": "reference", "collection": "users"}}
CARDS = {"name": {"type": "string"}, "board_id": {"type": "reference", "collection": "boards"}}
SCHEMA = {"Title": {"type": "string"}, "secret_plan": {"type": "string"}, "pages": {"type": "integer"}}
OTHERS = (
    "the other parameters are limit, offset, count, sort_by, sort_order, populate, where, fields, cursor, with_counts"
)


def messages(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [each["msg"] for each in answer.json()["detail"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("title_eq=x", 'There is no such field in this collection; did you mean "Title"?'),
        ("pagse_eq=1", 'There is no such field in this collection; did you mean "pages"?'),
        ("createdat_gt=2026-01-01", 'There is no such field in this collection; did you mean "created_at"?'),
        ('where={"not":{"titel_eq":"x"}}', 'There is no such field in this collection; did you mean "Title"?'),
        ("sort_by=title", 'Not a field that can be sorted by; did you mean "Title"?'),
        ("fields=title", 'There is no such field in this collection: "title"; did you mean "Title"?'),
        ("zzz_eq=1", "There is no such field in this collection"),
    ],
)
async def test_f28_an_unknown_field_is_refused_with_the_nearest_one(api: Api, query: str, expected: str) -> None:
    await declare(api, SCHEMA, "books")
    assert messages(await api.request("GET", f"{PATH}?{query}")) == [expected]


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("populate=bord", "board"),
        ("populate=board.ownr", "owner"),
        ("bord.name_eq=x", "board"),
        ('where={"bord.name_eq":"x"}', "board"),
        ("populate=zzz", None),
        ("populate=name", None),
    ],
)
async def test_f28_an_unknown_relation_is_refused_with_the_nearest_one(api: Api, query: str, near: str | None) -> None:
    await declare(api, BOARDS, "boards")
    await declare(api, CARDS, "cards")
    hint = f'; did you mean "{near}"?' if near else ""
    refused = await api.request("GET", f"/api/collections/cards/documents?{query}")
    assert messages(refused) == [f"There is no such relation in this collection{hint}"]


async def test_f28_a_hidden_relation_is_never_proposed(api: Api) -> None:
    await declare(api, BOARDS, "boards")
    await declare(api, CARDS, "cards")
    cards = {"read": "anyone", "fields": {"board_id": {"read": {"name_eq": "$user.id"}}}}
    rules = {"collections": {"boards": {"read": "anyone"}, "cards": cards}}
    assert (await save(api, rules)).status_code == 200
    key = {"x-api-key": api.publishable_key}
    for query in ("populate=bord", "bord.name_eq=x"):
        refused = await api.http.get(f"/api/collections/cards/documents?{query}", headers=key)
        assert messages(refused) == ["There is no such relation in this collection"]


async def test_f28_a_name_that_is_there_is_not_proposed_for_itself(api: Api) -> None:
    for name in ("roles", "disabled"):
        assert messages(await api.request("GET", f"{USERS}?sort_by={name}")) == ["Not a field that can be sorted by"]


async def test_f28_an_aggregation_and_distinct_name_the_nearest_field_too(api: Api) -> None:
    await declare(api, SCHEMA, "books")
    assert "did you mean" in messages(await api.request("GET", "/api/collections/books/distinct?field=title"))[0]
    body: dict[str, Any] = {"group": {"t": "title"}, "values": {"sum": {"sum": "pages"}}}
    assert "did you mean" in messages(await api.request("POST", "/api/collections/books/aggregate", json=body))[0]
    body = {"group": {"t": "Title"}, "values": {"total": {"sum": "pages"}}, "having": {"totel_gt": 1}}
    (msg,) = messages(await api.request("POST", "/api/collections/books/aggregate", json=body))
    assert msg.startswith("There is no such column")
    assert msg.endswith('did you mean "total"?')


@pytest.mark.parametrize("query", ["sort=Title", "page=2", "per_page=10", "sort_by=Title&pagesize=5"])
async def test_f28_an_unknown_parameter_is_refused_with_those_that_there_are(api: Api, query: str) -> None:
    await declare(api, SCHEMA, "books")
    for path in (PATH, USERS):
        (msg,) = messages(await api.request("GET", f"{path}?{query}"))
        assert OTHERS in msg
    # An export takes filters alone, and conditions in a body have no such parameters.
    assert OTHERS not in messages(await api.request("GET", "/api/collections/books/export?title=5"))[0]
    body = {"where": {"page": 2}}
    assert OTHERS not in messages(await api.request("POST", "/api/collections/books/query", json=body))[0]


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("limt=5", "limit"),
        ("sortby=Title", "sort_by"),
        ("offest=1", "offset"),
        ("expand=board", "populate"),
        ("per_page=5", "limit"),
    ],
)
async def test_f28_an_unknown_parameter_is_refused_with_the_nearest_one(api: Api, query: str, near: str) -> None:
    await declare(api, SCHEMA, "books")
    for path in (PATH, USERS):
        (msg,) = messages(await api.request("GET", f"{path}?{query}"))
        assert msg.endswith(f'{OTHERS}; did you mean "{near}"?')
    (first, second) = messages(await api.request("GET", f"{PATH}?{query}&limits=5"))
    assert ("did you mean" in first, "did you mean" in second) == (True, False)


async def test_f28_endpoints_with_few_parameters_name_the_nearest_one(api: Api) -> None:
    await declare(api, SCHEMA, "books")
    refused = await api.request("POST", "/api/collections/books/import?dryrun=true", json={})
    assert messages(refused) == ['This endpoint takes no such parameter; did you mean "dry_run"?']


async def test_f28_an_unknown_field_of_a_body_is_refused_with_the_nearest_one(api: Api) -> None:
    user = {"email": "ann@example.com"}
    for name, hint in (
        ("claim", 'did you mean "claims"?'),
        ("name", "put the fields of a record under data"),
    ):
        assert messages(await api.request("POST", USERS, json={**user, name: "x"})) == [
            f"Extra inputs are not permitted; {hint}"
        ]


async def test_f28_an_unknown_field_of_a_document_is_refused_with_the_nearest_one(api: Api) -> None:
    await declare(api, SCHEMA, "books")
    unknown = "The schema declares no field of this name"
    for data, *expected in (
        ({"titel": "x"}, f'{unknown}; did you mean "Title"?'),
        ({"titel": "x", "page": 5}, f'{unknown}; did you mean "Title"?', unknown),
        ({"zzz": 1}, unknown),
    ):
        assert messages(await api.request("POST", PATH, json={"data": data})) == expected
    fields = {"secret_plan": {"read": False}}
    rules = {"collections": {"books": {"read": "anyone", "create": "anyone", "fields": fields}}}
    assert (await save(api, rules)).status_code == 200
    for name, hint in (("secretplan", ""), ("titel", '; did you mean "Title"?')):
        key = {"x-api-key": api.publishable_key}
        assert messages(await api.http.post(PATH, headers=key, json={"data": {name: "x"}})) == [unknown + hint]


async def test_f28_an_unknown_collection_is_refused_with_the_nearest_one_to_servers_alone(api: Api) -> None:
    await declare(api, SCHEMA, "books")
    for method, body in (("GET", None), ("POST", {"data": {}})):
        missed = await api.request(method, "/api/collections/book/documents", json=body)
        assert missed.json()["detail"] == 'Collection not found; did you mean "books"?'
        guest = {"x-api-key": api.publishable_key}
        refused = await api.http.request(method, "/api/collections/book/documents", headers=guest, json=body)
        assert (refused.status_code, "books" in refused.text) == (401, False)


async def test_f28_a_key_in_the_header_of_another_service_is_refused_with_the_header_to_use(api: Api) -> None:
    for name in ("apikey", "api-key"):
        answer = await api.http.get(USERS, headers={name: api.key})
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")
        assert answer.json()["detail"] == "Invalid API key: send it in the header x-api-key"


async def test_f28_a_hidden_field_is_never_proposed(api: Api) -> None:
    await declare(api, SCHEMA, "books")
    fields = {name: {"read": {"Title_eq": "$user.id"}} for name in ("secret_plan", "pages")}
    rules = {"collections": {"books": {"read": "anyone", "fields": fields}}}
    assert (await save(api, rules)).status_code == 200
    key = {"x-api-key": api.publishable_key}
    for query in ("pagse_eq=1", "secretplan_eq=x", "sort_by=pagse", "sort_by=secretplan", "fields=pagse"):
        refused = await api.http.get(f"{PATH}?{query}", headers=key)
        assert "did you mean" not in messages(refused)[0], refused.text
        assert "pages" not in refused.text
        assert "secret_plan" not in refused.text
    assert "Title" in messages(await api.http.get(f"{PATH}?title_eq=x", headers=key))[0]


def test_f28_a_hint_costs_little_whatever_the_names_are() -> None:
    name = "ab" * (HINTED_CHARACTERS // 2)
    known = [f"{number:03}{'ba' * 60}"[:HINTED_CHARACTERS] for number in range(10 * HINTED_NAMES)]
    begin = time.thread_time()
    describe_nearest(name, known)
    describe_nearest("a" * 128, known)
    assert time.thread_time() - begin < 0.05


async def test_f28_an_api_key_as_a_bearer_token_is_refused_with_the_header_to_use(api: Api) -> None:
    await declare(api, SCHEMA, "books")
    for key in (api.key, api.publishable_key):
        for method, path in (("GET", PATH), ("GET", USERS), ("POST", SIGNUP), ("GET", "/api/collections")):
            answer = await api.as_user(key, method, path)
            assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")
            assert "send it in the header x-api-key" in answer.json()["detail"]
    answer = await api.as_user("no-token", "GET", PATH)
    assert (answer.json()["code"], answer.json()["detail"]) == ("invalid_token", "Invalid token or token expired")


async def test_f28_a_bad_address_hides_no_bad_password(api: Api) -> None:
    answer = await api.request("POST", SIGNUP, json={"email": "ann", "password": "short"})
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "email"], ["body", "password"]]
    answer = await api.request("POST", SIGNUP, json={"email": "ann", "password": 5})
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "email"], ["body", "password"]]
    answer = await api.request("POST", SIGNUP, json={"password": "correct horse"})
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "email"]]


async def test_f29_a_signup_with_an_object_of_data_is_refused_with_where_fields_stand(api: Api) -> None:
    body = {"email": "ann@example.com", "password": "correct horse"}
    refused = await api.request("POST", SIGNUP, json={**body, "data": {"name": "Ann"}})
    assert refused.json()["detail"][0]["loc"] == ["body", "data"]
    assert messages(refused) == [
        "Put profile fields beside email and password; the service itself keeps them under data"
    ]
    assert api.database["users"].count_documents({}) == 0
    assert (await api.request("POST", SIGNUP, json={**body, "data": "text"})).status_code == 201


async def test_f29_an_update_with_a_new_object_of_data_is_refused_with_where_fields_stand(api: Api) -> None:
    token = (await api.signup(data="text")).json()["access_token"]
    assert (await api.as_user(token, "PUT", USER, json={"data": {"now": "an object"}})).status_code == 200
    token = (await api.signup("ben@example.com")).json()["access_token"]
    form = {"data": (None, '{"data": {"name": "Ben"}}')}
    for refused in (
        await api.as_user(token, "PUT", USER, json={"data": {"name": "Ben"}, "city": "Bonn"}),
        await api.as_user(token, "PUT", USER, files=form),
    ):
        assert refused.json()["detail"][0]["loc"] == ["body", "data"]
        assert messages(refused) == [
            "Put profile fields at the top of the body; the service itself keeps them under data"
        ]
    assert (await api.as_user(token, "GET", USER)).json()["data"] == {}
    assert (await api.as_user(token, "PUT", USER, json={"data": "text"})).json()["data"] == {"data": "text"}
