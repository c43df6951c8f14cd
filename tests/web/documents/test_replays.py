"""A replay shows a caller under rules no more than the caller may read at that time."""

from typing import Any

import pytest

from faults.samples import FORM_TYPE, data_part, file_part, form
from service.domain.files.signed_urls import UrlSigner
from tests.conftest import BASE_URL, Api, MakeApi
from tests.declared import declare, violations
from tests.web.rules.conftest import Person, guest_of, save, sign_up

KEY = {"idempotency-key": "k"}
DOCUMENTS = "/api/collections/posts/documents"
SIGNUP = "/auth-collections/signup"
MINE: dict[str, Any] = {"author_id_eq": "$user.id"}
FIELDS: dict[str, Any] = {"author_id": {"set": "$user.id", "write": "create"}}
EDITOR = {"$user.roles_eq": "editor"}
POSTS: dict[str, Any] = {"read": "users", "create": "users", "update": "users", "delete": "users", "fields": FIELDS}


@pytest.fixture
async def posts(api: Api) -> Api:
    schema = {"title": {"type": "string"}, "secret": {"type": "string"}, "author_id": {"type": "string"}}
    await api.request("POST", "/api/collections", json={"name": "posts", "schema": schema})
    await set_rules(api)
    return api


async def set_rules(api: Api, users: dict[str, Any] | None = None, **rules: Any) -> None:
    document = {"collections": {"posts": {**POSTS, **rules}}, **({} if users is None else {"users": users})}
    assert (await save(api, document)).status_code == 200


async def create(person: Person) -> Any:
    return await person.ask("POST", DOCUMENTS, json={"data": {"title": "t", "secret": "s"}}, headers=KEY)


async def batch(person: Person, *operations: dict[str, Any]) -> Any:
    return await person.ask("POST", "/api/batch", json={"operations": list(operations)}, headers=KEY)


def assert_replayed(answer: Any, status: int, body: Any) -> None:
    replayed = answer.headers.get("idempotency-replayed")
    assert (answer.status_code, answer.json(), replayed) == (status, body, "true")


async def test_a_user_is_replayed_what_he_may_still_read(posts: Api) -> None:
    ann = await sign_up(posts, "ann")
    first, again = await create(ann), await create(ann)
    assert_replayed(again, 201, first.json())
    assert (again.content, again.headers["etag"]) == (first.content, first.headers["etag"])


@pytest.mark.parametrize("lost", ["deleted", "document", "rule", "closed"])
async def test_a_document_that_is_not_the_callers_to_read_any_more(posts: Api, lost: str) -> None:
    ann = await sign_up(posts, "ann")
    await set_rules(posts, read=MINE)
    id_ = (await create(ann)).json()["id"]
    if lost == "deleted":
        await posts.request("DELETE", f"{DOCUMENTS}/{id_}")
    elif lost == "document":
        await posts.request("PATCH", f"{DOCUMENTS}/{id_}", json={"data": {"author_id": "another"}})
    else:
        await set_rules(posts, read={"title_eq": "other"} if lost == "rule" else False)
    again = await create(ann)
    assert_replayed(again, 201, {"id": id_})
    assert "etag" not in again.headers


async def test_a_role_that_was_lost_shows_nothing_of_the_past(posts: Api) -> None:
    ann = await sign_up(posts, "ann", "editor")
    await set_rules(posts, read=EDITOR)
    first = await create(ann)
    assert first.json()["data"]["secret"] == "s"
    await posts.request("PUT", f"/auth-collections/users/{ann.id}/roles", json={"roles": []})
    assert_replayed(await create(ann), 201, {"id": first.json()["id"]})


async def test_a_field_that_is_hidden_by_now_is_left_out(posts: Api) -> None:
    ann = await sign_up(posts, "ann")
    first = (await create(ann)).json()
    open_only = {"secret": {"read": {"title_eq": "t"}}}
    await set_rules(posts, fields=FIELDS | open_only)
    assert_replayed(await create(ann), 201, first)
    await posts.request("PATCH", f"{DOCUMENTS}/{first['id']}", json={"data": {"title": "closed"}})
    assert_replayed(await create(ann), 201, {**first, "data": {"title": "t", "author_id": ann.id}})


async def test_a_change_is_replayed_by_the_rules_of_now(posts: Api) -> None:
    ann = await sign_up(posts, "ann")
    path = f"{DOCUMENTS}/{(await ann.create('posts', title='a')).json()['id']}"

    async def merge() -> Any:
        return await ann.ask("PATCH", path, json={"data": {"title": "b"}}, headers=KEY)

    first = await merge()
    assert_replayed(await merge(), 200, first.json())
    await posts.request("PATCH", path, json={"data": {"author_id": "another"}})
    await set_rules(posts, read=MINE)
    assert_replayed(await merge(), 200, {"id": first.json()["id"]})


async def test_each_document_of_a_batch_is_replayed_by_the_rules_of_now(posts: Api) -> None:
    everybody = {"read": "users", "fields": {"email": {"read": "users"}, "data.name": {"read": "users"}}}
    await set_rules(posts, users=everybody)
    ann, bob = await sign_up(posts, "ann"), await sign_up(posts, "bob")
    made = [
        {"op": "create", "collection": "posts", "data": {"title": title, "secret": "s"}} for title in ("kept", "gone")
    ]
    users = [{"op": "get", "collection": "users", "id": person.id} for person in (ann, bob)]
    first = (await batch(ann, *made, *users)).json()
    assert_replayed(await batch(ann, *made, *users), 200, first)
    kept, gone, me, him = first["results"]
    assert him["document"]["email"] == "bob@example.com"
    await posts.request("DELETE", f"{DOCUMENTS}/{gone['document']['id']}")
    await set_rules(posts, users={"read": "users"})
    shown = {name: value for name, value in him["document"].items() if name != "email"} | {"data": {}}
    expected = [kept, {"status": 201, "document": {"id": gone["document"]["id"]}}, me, {**him, "document": shown}]
    assert_replayed(await batch(ann, *made, *users), 200, {"results": expected})
    await set_rules(posts, users={"read": {"id_eq": "$user.id"}})
    expected[3] = {"status": 200, "document": {"id": bob.id}}
    assert_replayed(await batch(ann, *made, *users), 200, {"results": expected})


async def test_a_batch_that_its_caller_may_not_do_any_more_is_not_replayed(posts: Api) -> None:
    ann = await sign_up(posts, "ann")
    made = {"op": "create", "collection": "posts", "data": {"title": "t"}}
    assert (await batch(ann, made)).status_code == 200
    await set_rules(posts, create=EDITOR)
    answer = await batch(ann, made)
    assert (answer.status_code, answer.json()["code"], answer.json()["operation"]) == (403, "forbidden", 0)


async def test_the_replay_of_a_users_batch_counts_as_its_operations(make_api: MakeApi) -> None:
    api = await make_api(DAILY_LIMIT="50")
    await api.request("POST", "/api/collections", json={"name": "posts", "schema": {"title": {"type": "string"}}})
    await set_rules(api, fields={})
    ann = await sign_up(api, "ann")
    made = [{"op": "create", "collection": "posts", "data": {"title": "t"}}] * 10

    async def left() -> int:
        return int((await batch(ann, *made)).headers["ratelimit"].split("r=")[1].split(";")[0])

    assert await left() - await left() == 10


@pytest.mark.parametrize("path", [DOCUMENTS, "/api/batch"])
async def test_guests_have_no_keys(posts: Api, path: str) -> None:
    await set_rules(posts, create="anyone", read="anyone")
    answer = await guest_of(posts).ask("POST", path, json={"data": {}}, headers=KEY)
    assert violations(answer) == [("header", "idempotency-key", "extra_forbidden")]
    assert answer.json()["detail"][0]["msg"] == (
        "Only users and servers have keys of their own: sign in, or send this without Idempotency-Key"
    )
    assert posts.database["c_posts"].count_documents({}) == 0


async def test_two_guests_with_one_key_sign_up_apart(posts: Api) -> None:
    guest = guest_of(posts)

    async def sign_up_with(name: str, password: str) -> Any:
        body = {"email": f"{name}@example.com", "password": password}
        return await guest.ask("POST", SIGNUP, json=body, headers=KEY)

    ann, bob = await sign_up_with("ann", "correct horse"), await sign_up_with("bob", "correct horse")
    assert (ann.status_code, bob.status_code) == (201, 201)
    assert ann.json()["user"]["email"] != bob.json()["user"]["email"]
    again, guessed = await sign_up_with("ann", "correct horse"), await sign_up_with("ann", "guessed horse")
    assert (again.json()["user"], again.headers["idempotency-replayed"]) == (ann.json()["user"], "true")
    assert (guessed.status_code, "access_token" in guessed.json()) == (400, False)


async def test_a_replay_shows_urls_that_are_good_now(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """For servers and users, of one document and in batches; the answer that is kept has URLs that have expired since."""
    await declare(api, {"title": {"type": "string"}, "scan": {"type": "file", "protected": True}}, "posts")
    await save(api, {"collections": {"posts": {"read": "users", "create": "users", "update": "users"}}})
    body = form(data_part({"title": "t"}), file_part("scan"))
    id_ = (await api.request("POST", DOCUMENTS, content=body, headers=FORM_TYPE)).json()["id"]
    ann, change = await sign_up(api, "ann"), {"data": {"title": "u"}}
    steps = {"operations": [{"op": "update", "collection": "posts", "id": id_, **change}]}
    asked = [("PATCH", f"{DOCUMENTS}/{id_}", change, KEY), ("POST", "/api/batch", steps, {"idempotency-key": "b"})]
    with monkeypatch.context() as past:
        past.setattr(UrlSigner, "_end_of_next_window", lambda _: 1_000_000_000)
        for ask in (api.request, ann.ask):
            for method, path, json, headers in asked:
                assert await scan(api, await ask(method, path, json=json, headers=headers)) == 404
    for ask in (api.request, ann.ask):
        for method, path, json, headers in asked:
            answer = await ask(method, path, json=json, headers=headers)
            assert answer.headers["idempotency-replayed"] == "true"
            assert await scan(api, answer) == 200


async def scan(api: Api, answer: Any) -> int:
    """The status of the file that an answer of one document shows."""
    assert answer.status_code == 200, answer.text
    found = answer.json()
    document = found["results"][0]["document"] if "results" in found else found
    assert document["data"]["title"] == "u"
    return (await api.http.get(document["data"]["scan"].removeprefix(BASE_URL))).status_code
