"""`with_counts`: how many records that the caller may read refer to each record of an answer."""

import json
from typing import Any

import pytest

from service.bounds import MAX_COUNTED
from tests.conftest import Api
from tests.web.rules.conftest import guest_of, save

REFERENCE = {"type": "reference", "collection": "posts"}
POSTS = {"title": {"type": "string"}, "owner_id": {"type": "reference", "collection": "users"}}
COMMENTS = {"post_id": REFERENCE, "text": {"type": "string"}, "hidden": {"type": "boolean"}}
LISTS = {"post_ids": {"type": "array", "items": REFERENCE}}
LIKES = {"liked_id": REFERENCE, "shared_id": REFERENCE}


@pytest.fixture
async def blog(api: Api) -> Api:
    notes: dict[str, Any] = {"text": {"type": "string"}}
    for name, schema in (
        ("posts", POSTS),
        ("comments", COMMENTS),
        ("likes", LIKES),
        ("lists", LISTS),
        ("notes", notes),
    ):
        answer = await api.request("POST", "/api/collections", json={"name": name, "schema": schema})
        assert answer.status_code == 201, answer.text
    return api


async def post(api: Api, collection: str, **data: Any) -> str:
    answer = await api.request("POST", f"/api/collections/{collection}/documents", json={"data": data})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def counts(api: Api, path: str = "/api/collections/posts/documents", **query: str) -> list[Any]:
    answer = await api.request("GET", path, params=query)
    assert answer.status_code == 200, answer.text
    (rows,) = [each for each in answer.json().values() if isinstance(each, list)]
    return [row.get("counts") for row in rows]


async def refusal(api: Api, **query: str) -> Any:
    answer = await api.request("GET", "/api/collections/posts/documents", params=query)
    assert answer.status_code == 422, answer.text
    return answer.json()["detail"]


async def test_each_record_has_the_numbers_of_those_that_refer_to_it(blog: Api) -> None:
    first, second = [await post(blog, "posts", title=title) for title in "ab"]
    for _ in range(3):
        await post(blog, "comments", post_id=first)
    await post(blog, "likes", liked_id=second, shared_id=first)
    asked = "comments,likes.liked,likes.shared"
    expected = [
        {"comments": 3, "likes.liked": 0, "likes.shared": 1},
        {"comments": 0, "likes.liked": 1, "likes.shared": 0},
    ]
    assert await counts(blog, with_counts=asked) == expected
    assert await counts(blog, with_counts=asked, cursor="*", limit="1") == expected[:1]
    assert await counts(blog) == [None, None]
    answer = await blog.request("GET", f"/api/collections/posts/documents/{first}", params={"with_counts": "comments"})
    assert (answer.json()["counts"], answer.headers["etag"]) == ({"comments": 3}, '"v1"')
    body = {"with_counts": ["comments"], "where": {"title_eq": "a"}}
    queried = await blog.request("POST", "/api/collections/posts/query", json=body)
    assert [each["counts"] for each in queried.json()["documents"]] == [{"comments": 3}]


async def test_a_record_that_an_array_names_twice_counts_once(blog: Api) -> None:
    first, second = [await post(blog, "posts", title=title) for title in "ab"]
    await post(blog, "lists", post_ids=[first, first, second])
    await post(blog, "lists", post_ids=[first])
    assert await counts(blog, with_counts="lists") == [{"lists": 2}, {"lists": 1}]


async def test_users_have_the_numbers_of_what_refers_to_them(blog: Api) -> None:
    ann = (await blog.signup()).json()["user"]["id"]
    await post(blog, "posts", owner_id=ann)
    assert await counts(blog, "/auth-collections/users", with_counts="posts") == [{"posts": 1}]
    one = await blog.request("GET", f"/auth-collections/users/{ann}", params={"with_counts": "posts"})
    assert one.json()["counts"] == {"posts": 1}


async def test_more_than_a_thousand_are_not_counted(blog: Api) -> None:
    id_ = await post(blog, "posts")
    rows = [{"data": {"post_id": id_}} for _ in range(MAX_COUNTED + 5)]
    lines = "\n".join(json.dumps(row) for row in rows)
    sent = {"content-type": "application/x-ndjson"}
    await blog.request("POST", "/api/collections/comments/import", content=lines.encode(), headers=sent)
    assert await counts(blog, with_counts="comments") == [{"comments": MAX_COUNTED + 1}]


@pytest.mark.parametrize("name", ["absent", "notes", "users", "posts", "comments.liked", "likes.absent"])
async def test_a_name_that_refers_to_no_such_record_is_refused(blog: Api, name: str) -> None:
    (fault,) = await refusal(blog, with_counts=name)
    assert fault["loc"] == ["query", "with_counts"]
    assert fault["msg"] == f'No collection "{name}" refers to these records'


async def test_several_fields_that_refer_are_named(blog: Api) -> None:
    (fault,) = await refusal(blog, with_counts="likes")
    assert "likes.liked, likes.shared" in fault["msg"]


async def test_bounds(blog: Api) -> None:
    assert (await refusal(blog, with_counts="comments", limit="101"))[0]["loc"] == ["query", "limit"]
    assert "At most 5" in (await refusal(blog, with_counts="a,b,c,d,e,f"))[0]["msg"]
    for bad in ("", "a b", "a.b.c", "a,,b"):
        assert (await refusal(blog, with_counts=bad))[0]["loc"] == ["query", "with_counts"]
    answer = await blog.request(
        "GET", "/api/collections/comments/distinct", params={"field": "text", "with_counts": "x"}
    )
    assert answer.status_code == 422


async def test_j12_only_what_the_caller_may_read_is_counted(blog: Api) -> None:
    guest = guest_of(blog)

    async def see(name: str, **rules: Any) -> Any:
        saved = await save(blog, {"collections": {"posts": {"read": "anyone"}, **rules}})
        assert saved.status_code == 200, saved.text
        return await guest.ask("GET", "/api/collections/posts/documents", params={"with_counts": name})

    id_ = await post(blog, "posts")
    for hidden in (True, False, False):
        await post(blog, "comments", post_id=id_, hidden=hidden)
    closed, absent = await see("comments"), await see("commentz")
    assert closed.status_code == 422
    assert closed.text.replace("comments", "commentz") == absent.text
    some = await see("comments", comments={"read": {"hidden_eq": False}})
    assert some.json()["documents"][0]["counts"] == {"comments": 2}
    never = await see("comments", comments={"read": "anyone", "fields": {"post_id": {"read": False}}})
    assert never.text == closed.text
    where = {"hidden_eq": True}
    field = await see("comments", comments={"read": "anyone", "fields": {"post_id": {"read": where}}})
    assert field.json()["documents"][0]["counts"] == {"comments": 1}
