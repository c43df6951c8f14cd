"""Protected files of users: row X14, and decision D20 of the access rules."""

import time
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, account, file_part, form, stored
from service.app import create_app
from service.domain.files import FILE_URLS
from service.domain.files.signed_urls import FilePlace, UrlSigner
from service.domain.projects.secrets import derive_key
from service.settings import Settings
from tests.conftest import BASE_URL, Api, CommandRecorder, MakeApi
from tests.declared import declare
from tests.web.rules.conftest import save

SIGNUP, USER, USERS, SIGN = (
    "/auth-collections/signup",
    "/auth-collections/user",
    "/auth-collections/users",
    "/api/files/sign",
)
RESUME = {"read": {"id_eq": "$user.id"}, "protected": True}
Signed = tuple[str, dict[str, Any]]


async def protect(api: Api, read: Any = RESUME["read"], **more: Any) -> None:
    fields = {"data.resume": {"read": read, "protected": True}, "data.avatar": {"read": "users"}, **more}
    answer = await save(api, {"users": {"read": "users", "fields": fields}})
    assert answer.status_code == 200, answer.text


async def sign_up(api: Api, *fields: str, email: str = "ann@example.com", **data: Any) -> Signed:
    """A token and the user, with a file in each of `fields`."""
    body = form(account(email, **data), *(file_part(field) for field in fields))
    answer = await api.request("POST", SIGNUP, content=body, headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return answer.json()["access_token"], answer.json()["user"]


async def get(api: Api, url: str, method: str = "GET", **headers: str) -> httpx2.Response:
    return await api.http.request(method, url.removeprefix(BASE_URL), headers=headers)


async def profile(api: Api, token: str) -> dict[str, Any]:
    return dict((await api.as_user(token, "GET", USER)).json()["data"])


async def change(api: Api, token: str, **data: Any) -> dict[str, Any]:
    answer = await api.as_user(token, "PUT", USER, json=data)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def bare(url: str) -> str:
    return url.partition("?")[0]


def name_of(url: str) -> str:
    return bare(url).rpartition("/")[2]


def expires(url: str) -> int:
    return int(parse_qs(urlsplit(url).query)["expires"][0])


def plain_headers(answer: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in {"x-request-id", "ratelimit", "date"}}


@pytest.fixture
def signer(settings: Settings) -> UrlSigner:
    """The service's own."""
    return UrlSigner(derive_key(settings.secret, FILE_URLS), window=settings.file_url_window)


async def assert_hidden(api: Api, url: str, method: str = "GET", **headers: str) -> None:
    """The answer is that of a file which does not exist."""
    nothing = f"/files/{api.project.id}-{'0' * 32}.png"
    answer, other = await get(api, url, method, **headers), await get(api, nothing, method, **headers)
    assert (answer.status_code, answer.content) == (404, other.content)
    assert plain_headers(answer) == plain_headers(other)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_x14_the_bare_url_answers_as_a_file_that_does_not_exist(api: Api, method: str) -> None:
    await protect(api)
    token, user = await sign_up(api, "resume")
    url = user["data"]["resume"]
    await assert_hidden(api, bare(url), method)
    await assert_hidden(api, bare(url), method, range="bytes=0-9")
    await assert_hidden(api, bare(url), method, **{"if-none-match": f'"{name_of(url)}"'})
    await assert_hidden(api, bare(url), method, authorization=f"Bearer {token}")


async def test_x14_a_shown_url_opens_the_file_for_a_while(api: Api, settings: Settings) -> None:
    await protect(api)
    _, user = await sign_up(api, "resume")
    url, window = user["data"]["resume"], settings.file_url_window
    answer = await get(api, url)
    assert (answer.status_code, answer.content) == (200, PNG)
    assert expires(url) % window == 0
    assert window < expires(url) - time.time() + 1 <= 2 * window + 1
    scope, _, age = answer.headers["cache-control"].partition(", max-age=")
    assert scope == "private"
    assert 0 <= expires(url) - time.time() - int(age) + 1 < 3
    head = await get(api, url, "HEAD")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(PNG)))
    part = await get(api, url, range="bytes=1-4")
    assert (part.status_code, part.content) == (206, PNG[1:5])
    assert part.headers["cache-control"].startswith("private, max-age=")
    known = await get(api, url, **{"if-none-match": answer.headers["etag"]})
    assert known.status_code == 304
    assert known.headers["cache-control"].startswith("private, max-age=")
    assert (await get(api, url, range=f"bytes={len(PNG)}-")).status_code == 416


@pytest.mark.parametrize(
    "forge",
    [
        lambda url, _: url.replace("expires=", "expires=1"),
        lambda url, _: url.replace(f"expires={expires(url)}", f"expires={expires(url) + 1}"),
        lambda url, _: url.replace("expires=", "expires=0"),
        lambda url, _: url.replace("expires=", "expires=%2B"),
        lambda url, _: url[:-1],
        lambda url, _: f"{url}=",
        lambda url, _: f"{url}A",
        lambda url, _: url.replace("signature=", "signature=%E2%82%AC"),
        lambda url, _: url.rpartition("&")[0],
        lambda url, _: f"{bare(url)}?signature={url.rpartition('=')[2]}",
        lambda url, _: f"{bare(url)}?expires=9999999999&signature=",
        lambda url, other: f"{bare(url)}?{urlsplit(other).query}",
        lambda url, _: url.replace("-", "", 1).replace(".png", ".gif", 1),
    ],
    ids=[
        "much later", "a second later", "a zero before it", "a sign before it", "truncated", "padded", "longer", "no ASCII",
        "no signature", "no end", "empty signature", "of another name", "another name in it",
    ],
)  # fmt: skip
async def test_x14_an_altered_link_opens_nothing(api: Api, forge: Any) -> None:
    await protect(api)
    _, ann = await sign_up(api, "resume")
    _, bob = await sign_up(api, "resume", email="bob@example.com")
    await assert_hidden(api, forge(ann["data"]["resume"], bob["data"]["resume"]))


async def test_x14_an_expired_link_opens_nothing(api: Api, settings: Settings, signer: UrlSigner) -> None:
    await protect(api)
    _, user = await sign_up(api, "resume")
    url = bare(user["data"]["resume"])
    place = FilePlace(api.project.id, name_of(url), user["id"], "resume")
    assert (await get(api, url + signer.sign(place, 60))).status_code == 200
    past = UrlSigner(derive_key(settings.secret, FILE_URLS), window=60, clock=lambda: time.time() - 60)
    await assert_hidden(api, url + past.sign(place, 60))


@pytest.mark.parametrize("wrong", ["project", "owner", "field", "key"])
async def test_x14_a_link_of_another_place_opens_nothing(api: Api, signer: UrlSigner, wrong: str) -> None:
    await protect(api)
    _, user = await sign_up(api, "resume")
    url = bare(user["data"]["resume"])
    place = {"project": api.project.id, "owner": user["id"], "field": "resume", wrong: "other"}
    by = UrlSigner(b"o" * 32, window=60) if wrong == "key" else signer
    await assert_hidden(
        api, url + by.sign(FilePlace(place["project"], name_of(url), place["owner"], place["field"]), 60)
    )


async def test_x14_a_moved_file_stays_protected(api: Api) -> None:
    """A user with a URL may put it into a field of another kind, or of another user, and gains nothing."""
    await protect(api, **{"data.cv": {"read": "users", "protected": True}})
    token, ann = await sign_up(api, "resume")
    url = ann["data"]["resume"]
    moved = await change(api, token, avatar=url, cv=url)
    assert moved["avatar"] == bare(url)
    assert moved["resume"] == url
    bobs, bob = await sign_up(api, email="bob@example.com", resume=url, avatar=bare(url))
    for shown in (moved["avatar"], moved["cv"], bob["data"]["resume"], bob["data"]["avatar"]):
        await assert_hidden(api, shown)
    records = {record["email"]: record["data"] for record in api.database["users"].find()}
    assert records["ann@example.com"] == dict.fromkeys(("resume", "avatar", "cv"), name_of(url))
    assert records["bob@example.com"] == dict.fromkeys(("resume", "avatar"), name_of(url))
    await change(api, bobs, resume=None, avatar=None)
    assert (await get(api, url)).status_code == 200


@pytest.mark.parametrize("kept", ["signed", "bare", "expired"])
async def test_x14_a_url_that_is_sent_back_is_the_same_file(
    api: Api, settings: Settings, signer: UrlSigner, kept: str
) -> None:
    await protect(api)
    token, user = await sign_up(api, "resume", name="Ann")
    url = user["data"]["resume"]
    past = UrlSigner(derive_key(settings.secret, FILE_URLS), window=60, clock=lambda: 1_000_000.0)
    sent = {
        "signed": url,
        "bare": bare(url),
        "expired": bare(url) + past.sign(FilePlace(api.project.id, name_of(url), user["id"], "resume")),
    }[kept]
    assert await change(api, token, resume=sent, name="Anna") == {"resume": url, "name": "Anna"}
    assert (await get(api, url)).content == PNG
    (record,) = api.database["users"].find()
    assert record["data"] == {"resume": name_of(url), "name": "Anna"}
    assert record["files"] == {"resume": name_of(url)}
    await change(api, token, resume=None)
    assert stored(api.database) == {"users": 1}


async def test_x14_a_signed_url_of_an_older_address_is_the_same_file(api: Api, settings: Settings) -> None:
    await protect(api)
    token, user = await sign_up(api, "resume")
    moved = "https://moved.example.com"
    app = create_app(settings.model_copy(update={"storage_url": moved}))
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as http:
        there = replace(api, http=http)
        answer = await change(there, token, resume=user["data"]["resume"])
        assert answer["resume"].startswith(f"{moved}/files/")
        assert (await get(api, answer["resume"].removeprefix(moved))).status_code == 200
    (record,) = api.database["users"].find()
    assert record["data"] == record["files"] == {"resume": name_of(user["data"]["resume"])}


async def test_x14_a_replaced_and_a_new_file_are_signed(api: Api) -> None:
    await protect(api)
    token, user = await sign_up(api, "resume")
    body = form(file_part("resume", content=PNG + b"x"))
    answer = await api.as_user(token, "PUT", USER, content=body, headers=FORM_TYPE)
    url = answer.json()["data"]["resume"]
    assert name_of(url) != name_of(user["data"]["resume"])
    assert (await get(api, url)).content == PNG + b"x"
    await assert_hidden(api, user["data"]["resume"])


async def test_x14_files_from_before_the_rule_are_protected_and_lose_it_with_the_rule(api: Api) -> None:
    token, user = await sign_up(api, "resume", "avatar")
    url, avatar = user["data"]["resume"], user["data"]["avatar"]
    assert (await get(api, url)).headers["cache-control"].startswith("public")
    await protect(api)
    await assert_hidden(api, url)
    assert (await get(api, avatar)).status_code == 200
    signed = (await profile(api, token))["resume"]
    assert (await get(api, signed)).status_code == 200
    assert (await save(api, {})).status_code == 200
    assert (await profile(api, token))["resume"] == url
    for each in (url, signed):
        assert (await get(api, each)).headers["cache-control"].startswith("public")


async def test_x14_every_answer_to_somebody_who_may_read_the_field_carries_it_signed(api: Api) -> None:
    await protect(api, read="users")
    token, ann = await sign_up(api, "resume", "avatar")
    bobs, _ = await sign_up(api, email="bob@example.com", friend_id=ann["id"])
    url = ann["data"]["resume"]
    assert (await get(api, url)).status_code == 200
    assert "?" not in ann["data"]["avatar"]
    assert (await api.login()).json()["user"]["data"]["resume"] == url
    assert (await profile(api, token))["resume"] == url
    assert (await change(api, token, name="Ann"))["resume"] == url
    for answer in (
        await api.request("GET", f"{USERS}/{ann['id']}"),
        await api.as_user(token, "GET", f"{USERS}/{ann['id']}"),
        await api.as_user(bobs, "GET", f"{USERS}/{ann['id']}"),
    ):
        assert answer.json()["data"]["resume"] == url
    listed = (await api.users("email_eq=ann@example.com")).json()["users"]
    assert listed[0]["data"]["resume"] == url
    seen = (await api.as_user(bobs, "GET", USERS)).json()["users"]
    assert [user["data"].get("resume") for user in seen] == [url, None]
    populated = (await api.users("populate=friend&email_eq=bob@example.com")).json()["users"]
    assert populated[0]["data"]["friend"]["data"]["resume"] == url
    found = (await api.http.get(USERS, params={"resume_eq": url}, headers={"x-api-key": api.key})).json()["users"]
    assert [user["id"] for user in found] == [ann["id"]]


async def test_x14_users_that_documents_refer_to_are_shown_as_everywhere(api: Api) -> None:
    """A text like a URL in a document stays a text: only users have files."""
    token, ann = await sign_up(api, "resume", "avatar")
    bobs, _ = await sign_up(api, email="bob@example.com")
    await declare(api, {"author_id": {"type": "reference", "collection": "users"}, "resume": {"type": "string"}})
    plain, avatar = ann["data"]["resume"], ann["data"]["avatar"]
    made = {"data": {"author_id": ann["id"], "resume": plain}}
    assert (await api.request("POST", "/api/collections/things/documents", json=made)).status_code == 201
    fields = {"data.resume": RESUME, "data.avatar": {"read": "users"}}
    rules = {"users": {"read": "users", "fields": fields}, "collections": {"things": {"read": "users"}}}
    assert (await save(api, rules)).status_code == 200
    path = "/api/collections/things/documents?populate=author"
    signed = (await profile(api, token))["resume"]
    for answer, expected in (
        (await api.request("GET", path), {"resume": signed, "avatar": avatar}),
        (await api.as_user(token, "GET", path), {"resume": signed, "avatar": avatar}),
        (await api.as_user(bobs, "GET", path), {"avatar": avatar}),
    ):
        (document,) = answer.json()["documents"]
        assert document["data"]["resume"] == plain
        assert document["data"]["author"]["data"] == expected
    assert (await get(api, signed)).status_code == 200
    await assert_hidden(api, plain)


async def test_x14_who_may_not_read_the_field_is_shown_no_url(api: Api) -> None:
    await protect(api)
    _, ann = await sign_up(api, "resume")
    bobs, _ = await sign_up(api, email="bob@example.com", friend_id=ann["id"])
    answer = await api.as_user(bobs, "GET", f"{USERS}/{ann['id']}")
    assert "resume" not in answer.json()["data"]
    every = await api.as_user(bobs, "GET", USERS)
    assert every.status_code == 200
    assert name_of(ann["data"]["resume"]) not in every.text


async def test_x14_a_url_stays_equal_within_its_window(api: Api) -> None:
    await protect(api)
    token, _ = await sign_up(api, "resume")
    first, second = await profile(api, token), await profile(api, token)
    if expires(first["resume"]) == expires(second["resume"]):
        assert first == second


async def test_x14_a_page_of_another_origin_may_read_a_signed_file(make_api: MakeApi) -> None:
    api = await make_api(CORS_ORIGINS="https://app.example.com")
    await protect(api)
    _, user = await sign_up(api, "resume")
    for url, status in ((user["data"]["resume"], 200), (bare(user["data"]["resume"]), 404)):
        answer = await get(api, url, origin="https://app.example.com")
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == "https://app.example.com"


async def test_x14_a_link_to_another_project_opens_nothing(make_api: MakeApi) -> None:
    first, second = await make_api(), await make_api()
    for api in (first, second):
        await protect(api)
    _, one = await sign_up(first, "resume")
    _, two = await sign_up(second, "resume")
    query = urlsplit(one["data"]["resume"]).query
    await assert_hidden(second, f"{bare(two['data']['resume'])}?{query}")
    answer = await second.request("POST", SIGN, json={"urls": [bare(one["data"]["resume"])]})
    assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")


async def test_x14_a_protected_file_costs_no_more_round_trips(api: Api, commands: CommandRecorder) -> None:
    await protect(api)
    token, user = await sign_up(api, "resume")
    url = user["data"]["resume"]
    await get(api, url)
    commands.commands.clear()
    assert (await get(api, url)).status_code == 200
    assert commands.names == ["find", "find"]
    commands.commands.clear()
    await get(api, bare(url))
    assert commands.names == ["find"]
    commands.commands.clear()
    await profile(api, token)
    assert commands.names == ["find"]


async def sign(api: Api, token: str | None, *urls: str, **more: Any) -> httpx2.Response:
    body = {"urls": list(urls), **more}
    if token is None:
        return await api.request("POST", SIGN, json=body)
    return await api.as_user(token, "POST", SIGN, json=body)


async def test_x14_the_secret_key_signs_any_file_for_as_long_as_it_says(api: Api) -> None:
    await protect(api)
    _, user = await sign_up(api, "resume", "avatar")
    resume, avatar = user["data"]["resume"], user["data"]["avatar"]
    before = int(time.time())
    answer = await sign(api, None, resume, bare(resume), avatar, expires_in=7)
    assert answer.status_code == 200
    urls = answer.json()["urls"]
    assert urls.keys() == {resume, bare(resume), avatar}
    for sent, url in urls.items():
        assert bare(url) == bare(sent)
        assert before + 7 <= expires(url) <= time.time() + 7
        assert (await get(api, url)).status_code == 200
    assert 3_590 < expires((await sign(api, None, resume)).json()["urls"][resume]) - before <= 3_610


async def test_x14_a_user_signs_what_the_user_may_read(api: Api) -> None:
    await protect(api, read={"open_eq": True})
    anns, ann = await sign_up(api, "resume", "note", open=False)
    bobs, bob = await sign_up(api, "resume", email="bob@example.com", open=True)
    own = (await sign(api, anns, ann["data"]["resume"], ann["data"]["note"])).json()["urls"]
    assert (await get(api, own[ann["data"]["resume"]])).status_code == 200
    other = (await sign(api, anns, bare(bob["data"]["resume"]))).json()["urls"]
    assert (await get(api, other[bare(bob["data"]["resume"])])).status_code == 200
    nothing = bob["data"]["resume"].replace(name_of(bob["data"]["resume"])[-36:-4], "0" * 32)
    absent = await sign(api, bobs, nothing)
    for url in (bare(ann["data"]["resume"]), bare(ann["data"]["note"])):
        refused = await sign(api, bobs, bob["data"]["resume"], url)
        assert (refused.status_code, refused.content) == (absent.status_code, absent.content)
    assert (absent.status_code, absent.json()["code"]) == (404, "file_not_found")


async def test_x14_copying_a_url_gives_nobody_a_signature(api: Api) -> None:
    """Neither by a field of one's own that holds it, nor by a field of its owner that everybody may read."""
    await protect(api)
    anns, ann = await sign_up(api, "resume")
    url = bare(ann["data"]["resume"])
    await change(api, anns, avatar=url)
    bobs, _ = await sign_up(api, email="bob@example.com", resume=url, avatar=url)
    assert (await sign(api, bobs, url)).status_code == 404
    assert (await sign(api, anns, url)).status_code == 200


async def test_x14_a_file_outlives_its_user_for_the_secret_key_only(api: Api) -> None:
    await protect(api, read="users")
    _, ann = await sign_up(api, "resume")
    bobs, _ = await sign_up(api, email="bob@example.com")
    url = bare(ann["data"]["resume"])
    assert (await sign(api, bobs, url)).status_code == 200
    api.database["users"].delete_one({"_id": ann["id"]})
    assert (await sign(api, bobs, url)).status_code == 404
    assert (await sign(api, None, url)).status_code == 200
    await assert_hidden(api, url)


async def test_x14_without_rules_a_user_signs_files_of_ones_own(api: Api) -> None:
    anns, ann = await sign_up(api, "resume")
    _, bob = await sign_up(api, "resume", email="bob@example.com")
    assert (await sign(api, anns, ann["data"]["resume"])).status_code == 200
    assert (await sign(api, anns, bob["data"]["resume"])).status_code == 404


async def test_x14_signing_takes_the_secret_key_or_a_user(api: Api) -> None:
    token, user = await sign_up(api, "resume")
    body = {"urls": [user["data"]["resume"]]}
    guest = await api.http.post(SIGN, json=body, headers={"x-api-key": api.publishable_key})
    assert (guest.status_code, guest.json()["code"]) == (401, "invalid_token")
    nobody = await api.http.post(SIGN, json=body)
    assert (nobody.status_code, nobody.json()["code"]) == (401, "invalid_api_key")
    api.database["users"].delete_one({"_id": user["id"]})
    gone = await sign(api, token, user["data"]["resume"])
    assert (gone.status_code, gone.json()["code"]) == (401, "invalid_token")


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body", "urls"]),
        ({"urls": "x"}, ["body", "urls"]),
        ({"urls": ["x"] * 101}, ["body", "urls"]),
        ({"urls": [1]}, ["body", "urls", 0]),
        ({"urls": [], "expires_in": 0}, ["body", "expires_in"]),
        ({"urls": [], "expires_in": 604_801}, ["body", "expires_in"]),
        ({"urls": [], "expires_in": 1.5}, ["body", "expires_in"]),
        ({"urls": [], "variant": "thumb"}, ["body", "variant"]),
    ],
    ids=["nothing", "a text", "101", "a number", "no time", "more than a week", "half a second", "another name"],
)
async def test_x14_what_is_asked_for_is_judged(api: Api, body: Any, loc: list[str | int]) -> None:
    answer = await api.request("POST", SIGN, json=body)
    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


@pytest.mark.parametrize("url", ["x", "", "https://elsewhere.example.com/files/a.png", f"{BASE_URL}/files/x.png"])
async def test_x14_a_url_of_no_file_is_not_found(api: Api, url: str) -> None:
    answer = await sign(api, None, url)
    assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")


async def test_x14_signing_a_hundred_is_one_round_trip(api: Api, commands: CommandRecorder) -> None:
    _, user = await sign_up(api, *(f"f{number}" for number in range(10)))
    urls = [f"{url}{query}" for url in user["data"].values() for query in ("", "?expires=1&signature=x")]
    commands.commands.clear()
    assert (await sign(api, None, *urls)).status_code == 200
    assert commands.names == ["find"]


async def test_x14_each_user_signs_under_a_limit_of_ones_own(make_api: MakeApi) -> None:
    api = await make_api(AUTH_LIMIT="2")
    anns, ann = await sign_up(api, "resume")
    bobs, bob = await sign_up(api, "resume", email="bob@example.com")
    statuses = [(await sign(api, anns, ann["data"]["resume"])).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert (await sign(api, bobs, bob["data"]["resume"])).status_code == 200


@pytest.mark.parametrize("path", ["resume", "data.a.b", "email"])
async def test_x14_only_a_field_of_users_data_can_be_protected(api: Api, path: str) -> None:
    answer = await save(api, {"users": {"read": "users", "fields": {path: {"protected": True}}}})
    assert answer.status_code == 422
    assert ["body", "users", "fields", path] == answer.json()["detail"][0]["loc"][:4]


async def test_x14_a_field_of_a_collection_cannot_be_protected(api: Api) -> None:
    await api.request("POST", "/api/collections", json={"name": "posts", "schema": {"picture": {"type": "string"}}})
    rules = {"collections": {"posts": {"read": "anyone", "fields": {"picture": {"protected": True}}}}}
    answer = await save(api, rules)
    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [
        ["body", "collections", "posts", "fields", "picture", "protected"]
    ]
    assert "Only the files of users" in answer.json()["detail"][0]["msg"]


@pytest.mark.parametrize("protected", [True, False])
async def test_x6_a_file_cannot_be_put_into_a_field_that_servers_write(api: Api, protected: bool) -> None:
    fields = {"data.plan": {"write": "server", "read": "users", "protected": protected}}
    assert (await save(api, {"users": {"read": "users", "fields": fields}})).status_code == 200
    token, _ = await sign_up(api, plan="free")
    body = form(file_part("plan"))
    answer = await api.as_user(token, "PUT", USER, content=body, headers=FORM_TYPE)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "plan"])
    assert (await profile(api, token))["plan"] == "free"
    assert stored(api.database) == {"users": 1}
    guest = await api.http.post(
        SIGNUP,
        content=form(account("bob@example.com"), file_part("plan")),
        headers=FORM_TYPE | {"x-api-key": api.publishable_key},
    )
    assert guest.status_code == 422


async def test_a_whole_number_of_seconds_may_be_written_with_a_point(api: Api) -> None:
    for seconds, status in ((65.0, 200), (65.5, 422), ("65", 422), (True, 422)):
        answer = await api.request("POST", "/api/files/sign", json={"urls": [], "expires_in": seconds})
        assert answer.status_code == status, answer.text
