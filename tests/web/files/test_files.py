"""Files over HTTP: what is accepted, what is refused and leaves nothing, how they are replaced and come back."""

import asyncio
import re
from typing import Any

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, SVG, account, data_part, file_part, form, part, picture, png, stored
from service.web.files.endpoints import IMMUTABLE
from tests.conftest import BASE_URL, Api, MakeApi
from tests.web.files.ranges import LENGTH, RANGES

SIGNUP = "/auth-collections/signup"
USER = "/auth-collections/user"
NOTHING: dict[str, int] = {}
ANN = {"users": 1}


async def signup(api: Api, *parts: bytes) -> httpx2.Response:
    return await api.request("POST", SIGNUP, content=form(*parts), headers=FORM_TYPE)


async def signed_up(api: Api, *parts: bytes, email: str = "ann@example.com", **data: Any) -> tuple[str, dict[str, Any]]:
    """A token and the user."""
    answer = await signup(api, account(email, **data), *parts)
    assert answer.status_code == 201, answer.text
    return answer.json()["access_token"], answer.json()["user"]


async def update(api: Api, token: str, *parts: bytes) -> httpx2.Response:
    return await api.as_user(token, "PUT", USER, content=form(*parts), headers=FORM_TYPE)


def path(url: str) -> str:
    return url.removeprefix(BASE_URL)


async def test_signup_with_a_file(api: Api) -> None:
    answer = await signup(api, account(name="Ann"), file_part("profile_picture", "me.PNG"))
    assert answer.status_code == 201
    user = answer.json()["user"]
    assert user["data"]["name"] == "Ann"
    url = user["data"]["profile_picture"]
    assert re.fullmatch(rf"{BASE_URL}/files/{api.project.id}-[0-9a-f]{{32}}\.png", url)
    assert (await api.http.get(path(url))).content == PNG
    assert stored(api.database) == {"users": 1, "files.files": 1, "files.chunks": 1}
    profile = await api.as_user(answer.json()["access_token"], "GET", USER)
    assert profile.json()["data"] == user["data"]


async def test_signup_with_parts_in_any_order(api: Api) -> None:
    answer = await signup(api, file_part("a"), account(), file_part("b", "b.svg", SVG))
    assert answer.status_code == 201
    assert (await api.http.get(path(answer.json()["user"]["data"]["b"]))).content == SVG


async def test_signup_with_a_form_without_files(api: Api) -> None:
    answer = await signup(api, account(name="Ann"))
    assert (answer.status_code, answer.json()["user"]["data"]) == (201, {"name": "Ann"})


async def test_a_common_client_signs_up(api: Api) -> None:
    files = {"resume": ("r\u00e9sum\u00e9.pdf", picture("PDF")), "cover_photo": ("c.webp", picture("WEBP"))}
    data = {"data": '{"email": "ann@example.com", "password": "correct horse"}'}
    answer = await api.request("POST", SIGNUP, data=data, files=files)
    assert set(answer.json()["user"]["data"]) == {"resume", "cover_photo"}


GOOD = {"email": "a@b.co", "password": "correct horse"}
BAD_FORMS: list[tuple[str, list[bytes], int, list[str]]] = [
    ("no data", [file_part("a")], 422, ["body", "data"]),
    ("nothing", [], 422, ["body", "data"]),
    ("bad JSON", [file_part("a"), data_part(b"{")], 422, ["body", "data"]),
    ("data twice", [account(), file_part("a"), account("bob@example.com")], 422, ["body", "data"]),
    ("data as a file", [part('name="data"; filename="d.json"', b"{}")], 422, ["body", "data"]),
    ("a text part", [account(), part('name="age"', b"33")], 422, ["body", "age"]),
    ("a file named email", [account(), file_part("email")], 422, ["body", "email"]),
    ("a file named id", [account(), file_part("id")], 422, ["body", "id"]),
    ("a file named password", [account(), file_part("password")], 422, ["body", "password"]),
    ("a file named oauth_id", [account(), file_part("oauth_id")], 422, ["body", "oauth_id"]),
    ("a dot in a name", [account(), file_part("a.b")], 422, ["body", "a.b"]),
    ("a dollar in a name", [account(), file_part("$x")], 422, ["body", "$x"]),
    ("an empty name", [account(), file_part("")], 422, ["body", ""]),
    ("a long name", [account(), file_part("x" * 129)], 422, ["body", "x" * 40 + "..."]),
    ("the same part twice", [account(), file_part("a"), file_part("a")], 422, ["body", "a"]),
    ("a file and a field of one name", [account(a=1), file_part("a")], 422, ["body", "a"]),
    ("a field and a file of one name", [file_part("a"), account(a=1)], 422, ["body", "a"]),
    ("30 files", [account(), *(file_part(f"f{n}") for n in range(30))], 422, ["body", "f10"]),
    ("an empty file", [account(), file_part("a", content=b"")], 422, ["body", "a"]),
    ("a bad e-mail", [file_part("a"), account("nobody")], 422, ["body", "email"]),
    (
        "a short password",
        [file_part("a"), data_part({"email": "a@b.co", "password": "short"})],
        422,
        ["body", "password"],
    ),
    ("NaN", [file_part("a"), data_part(b'{"email": "a@b.co", "x": NaN}')], 422, ["body", "data"]),
    ("1e999", [data_part(b'{"email": "a@b.co", "x": 1e999}')], 422, ["body", "data"]),
    ("a surrogate", [data_part(b'{"email": "a@b.co", "x": "\\ud800"}')], 422, ["body", "data"]),
    (
        "NUL in a name of data",
        [data_part({"email": "a@b.co", "password": "correct horse", "a\0b": 1})],
        422,
        ["body", "a\\u0000b"],
    ),
    ("NUL in a file name", [account(), file_part("a", "a\0.png")], 422, ["body"]),
    ("no extension", [account(), file_part("a", "me")], 415, []),
    ("an extension with a dot behind it", [account(), file_part("a", "a.svg.", SVG)], 415, []),
    ("two extensions, the last not allowed", [account(), file_part("a", "a.png.html")], 415, []),
    ("no file name", [account(), file_part("a", "")], 415, []),
    ("a script", [account(), file_part("a", "a.php")], 415, []),
    ("HTML as png", [account(), file_part("a", "a.png", b"<html><script>alert(1)</script></html>")], 415, []),
    ("an svg with DOCTYPE", [account(), file_part("a", "a.svg", b"<!DOCTYPE svg>" + SVG)], 415, []),
    ("a good file, then a bad one", [account(), file_part("a"), file_part("b", "b.pdf")], 415, []),
]


@pytest.mark.parametrize(("parts", "status", "loc"), [row[1:] for row in BAD_FORMS], ids=[row[0] for row in BAD_FORMS])
async def test_f1_f3_f4_b3_b5_a_broken_form_leaves_nothing(
    api: Api, parts: list[bytes], status: int, loc: list[str]
) -> None:
    answer = await signup(api, *parts)
    assert answer.status_code == status, answer.text
    if status == 422:
        assert [found["loc"] for found in answer.json()["detail"]] == [loc]
    assert answer.headers["connection"] == "close"
    assert stored(api.database) == NOTHING
    assert (await api.signup()).status_code == 201


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", form(account())),
        ("multipart/form-data; boundary=", form(account())),
        ("multipart/form-data; boundary=other", form(account())),
        ("multipart/form-data; boundary=sample-boundary; charset=undefined", form(account())),
        (FORM_TYPE["content-type"], account() + file_part("a")),
        (FORM_TYPE["content-type"], form(account(), file_part("a"))[:-4]),
        (FORM_TYPE["content-type"], b""),
    ],
    ids=["no boundary", "an empty one", "another one", "charset", "no end", "half an end", "no body"],
)
async def test_f2_a_form_without_bounds_is_refused(api: Api, content_type: str, body: bytes) -> None:
    answer = await api.request("POST", SIGNUP, content=body, headers={"content-type": content_type})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body"]
    assert stored(api.database) == NOTHING


NAMES: list[tuple[str, str, str]] = [
    ("the last extension counts", "a.php.png", 'inline; filename="a.php.png"'),
    ("folders", "../../x.png", 'inline; filename="x.png"'),
    ("an escaped quote", 'a\\"b.png', "inline; filename=\"a_b.png\"; filename*=UTF-8''a%22b.png"),
    (
        "an encoded line break",
        "a%0D%0AX-Y: z.png",
        "inline; filename=\"a_0D_0AX-Y: z.png\"; filename*=UTF-8''a%250D%250AX-Y%3A%20z.png",
    ),
    ("unicode", "\u017dofie.png", "inline; filename=\"_ofie.png\"; filename*=UTF-8''%C5%BDofie.png"),
    ("a mark that turns the direction", "gnp\u202e.png", 'inline; filename="gnp.png"'),
]


@pytest.mark.parametrize(("name", "disposition"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
async def test_f3_names_are_kept_but_never_used(api: Api, name: str, disposition: str) -> None:
    _, user = await signed_up(api, file_part("a", name))
    answer = await api.http.get(path(user["data"]["a"]))
    assert answer.headers["content-disposition"] == disposition
    assert answer.content == PNG


async def test_signup_deletes_the_upload_when_the_email_is_taken(api: Api) -> None:
    await signed_up(api)
    answer = await signup(api, file_part("a"), account())
    assert (answer.status_code, answer.json()["detail"]) == (400, "Email already registered")
    assert stored(api.database) == ANN


async def test_a6_of_parallel_signups_with_files_one_succeeds(api: Api) -> None:
    answers = await asyncio.gather(*(signup(api, account(), file_part("a")) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [201] + [400] * 19, [answer.text for answer in answers]
    assert stored(api.database) == {"users": 1, "files.files": 1, "files.chunks": 1}


async def test_ten_files_at_once(api: Api) -> None:
    _, user = await signed_up(api, *(file_part(f"f{n}") for n in range(10)))
    assert len(user["data"]) == 10


class TestUpdate:
    """PUT /auth-collections/user, as a form and as JSON."""

    async def test_files_without_data(self, api: Api) -> None:
        token, user = await signed_up(api, name="Ann")
        answer = await update(api, token, file_part("a"), file_part("b", "b.gif", picture("GIF")))
        assert answer.status_code == 200
        assert answer.json()["data"]["name"] == "Ann"
        assert answer.json()["updated_at"] > user["created_at"]
        assert (await api.http.get(path(answer.json()["data"]["b"]))).headers["content-type"] == "image/gif"

    async def test_data_without_files(self, api: Api) -> None:
        token, _ = await signed_up(api, name="Ann", age=3)
        assert (await update(api, token, data_part({"age": 4}))).json()["data"] == {"name": "Ann", "age": 4}

    async def test_a_refused_update_leaves_nothing(self, api: Api) -> None:
        token, user = await signed_up(api)
        for parts in (
            [file_part("a"), data_part({"password": "x"})],
            [file_part("a"), data_part({"email": "bob@x.com"})],
        ):
            assert (await update(api, token, *parts)).status_code == 422
        assert stored(api.database) == ANN
        assert (await api.as_user(token, "GET", USER)).json()["data"] == user["data"]

    async def test_a_user_who_is_gone_leaves_nothing(self, api: Api) -> None:
        token, _ = await signed_up(api)
        api.database["users"].delete_many({})
        assert (await update(api, token, file_part("a"))).status_code == 401
        assert stored(api.database) == NOTHING

    async def test_a_file_replaces_a_file(self, api: Api) -> None:
        token, user = await signed_up(api, file_part("a"), file_part("b"))
        changed = (await update(api, token, file_part("a", "new.svg", SVG))).json()["data"]
        assert changed["b"] == user["data"]["b"]
        assert (await api.http.get(path(changed["a"]))).content == SVG
        assert (await api.http.get(path(user["data"]["a"]))).status_code == 404
        assert stored(api.database) == {"users": 1, "files.files": 2, "files.chunks": 2}

    @pytest.mark.parametrize("value", [None, "text", 5, {"url": "x"}, ["x"]], ids=str)
    async def test_json_replaces_a_file(self, api: Api, value: Any) -> None:
        token, user = await signed_up(api, file_part("a"))
        answer = await api.as_user(token, "PUT", USER, json={"a": value, "more": 1})
        assert answer.json()["data"] == {"a": value, "more": 1}
        assert (await api.http.get(path(user["data"]["a"]))).json()["detail"] == "File not found"
        assert stored(api.database) == ANN

    async def test_what_was_read_may_be_sent_back(self, api: Api) -> None:
        token, user = await signed_up(api, file_part("a"), name="Ann")
        answer = await api.as_user(token, "PUT", USER, json={**user["data"], "name": "Anna"})
        assert answer.json()["data"] == {**user["data"], "name": "Anna"}
        assert (await api.http.get(path(user["data"]["a"]))).status_code == 200

    async def test_a_file_that_moves_to_another_field_stays(self, api: Api) -> None:
        token, user = await signed_up(api, file_part("a"))
        await api.as_user(token, "PUT", USER, json={"a": None, "b": user["data"]["a"]})
        assert (await api.http.get(path(user["data"]["a"]))).status_code == 200

    async def test_other_fields_leave_files_alone(self, api: Api) -> None:
        token, user = await signed_up(api, file_part("a"))
        await api.as_user(token, "PUT", USER, json={"name": "Ann"})
        assert (await api.http.get(path(user["data"]["a"]))).status_code == 200

    async def test_f10_the_file_of_somebody_else_stays(self, api: Api) -> None:
        _, bob = await signed_up(api, file_part("a"), email="bob@example.com")
        token, _ = await signed_up(api, a=bob["data"]["a"])
        assert (await update(api, token, file_part("a"))).status_code == 200
        await api.as_user(token, "PUT", USER, json={"a": bob["data"]["a"]})
        await api.as_user(token, "PUT", USER, json={"a": None})
        assert (await api.http.get(path(bob["data"]["a"]))).content == PNG
        assert stored(api.database) == {"users": 2, "files.files": 1, "files.chunks": 1}

    async def test_f10_the_file_of_another_field_stays(self, api: Api) -> None:
        token, user = await signed_up(api, file_part("a"))
        await api.as_user(token, "PUT", USER, json={"b": user["data"]["a"]})
        await api.as_user(token, "PUT", USER, json={"b": None})
        assert (await api.http.get(path(user["data"]["a"]))).status_code == 200

    async def test_f10_the_file_of_another_project_stays(self, api: Api, make_api: MakeApi) -> None:
        other = await make_api()
        _, bob = await signed_up(other, file_part("a"))
        token, _ = await signed_up(api, a=bob["data"]["a"])
        await api.as_user(token, "PUT", USER, json={"a": None})
        assert (await api.http.get(path(bob["data"]["a"]))).content == PNG

    async def test_of_replacements_at_once_one_file_is_left(self, api: Api) -> None:
        token, _ = await signed_up(api, file_part("a"))
        as_files = [update(api, token, file_part("a", f"{n}.png")) for n in range(8)]
        as_json = [api.as_user(token, "PUT", USER, json={"b": n}) for n in range(4)]
        answers = await asyncio.gather(*as_files, *as_json)
        assert {answer.status_code for answer in answers} == {200}
        final = (await api.as_user(token, "GET", USER)).json()["data"]
        assert (await api.http.get(path(final["a"]))).content == PNG
        assert stored(api.database) == {"users": 1, "files.files": 1, "files.chunks": 1}

    async def test_of_a_file_and_a_null_at_once_no_orphan_is_left(self, api: Api) -> None:
        token, _ = await signed_up(api, file_part("a"))
        nulls = [api.as_user(token, "PUT", USER, json={"a": None}) for _ in range(6)]
        files = [update(api, token, file_part("a")) for _ in range(6)]
        answers = await asyncio.gather(*(call for pair in zip(nulls, files, strict=True) for call in pair))
        assert {answer.status_code for answer in answers} == {200}
        final = (await api.as_user(token, "GET", USER)).json()["data"]["a"]
        left = {"files.files": 1, "files.chunks": 1} if final else {}
        assert stored(api.database) == {"users": 1, **left}


class TestRead:
    """GET and HEAD /files/{file_name}."""

    async def test_headers_of_an_image(self, api: Api) -> None:
        _, user = await signed_up(api, file_part("a"))
        url = path(user["data"]["a"])
        answer = await api.http.get(url)
        expected = {
            "content-type": "image/png",
            "content-length": str(len(PNG)),
            "content-disposition": 'inline; filename="me.png"',
            "etag": f'"{url.removeprefix("/files/")}"',
            "cache-control": IMMUTABLE,
            "accept-ranges": "bytes",
            "x-content-type-options": "nosniff",
        }
        assert {name: answer.headers[name] for name in expected} == expected

    @pytest.mark.parametrize(
        ("name", "content", "media_type"),
        [("a.svg", SVG, "image/svg+xml"), ("a.pdf", picture("PDF"), "application/pdf")],
    )
    async def test_f8_what_can_run_is_sandboxed_and_offered_as_a_download(
        self, api: Api, name: str, content: bytes, media_type: str
    ) -> None:
        _, user = await signed_up(api, file_part("a", name, content))
        answer = await api.http.get(path(user["data"]["a"]))
        assert answer.headers["content-type"] == media_type
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'

    async def test_head_is_get_without_the_bytes(self, api: Api) -> None:
        _, user = await signed_up(api, file_part("a"))
        url = path(user["data"]["a"])
        head, get = await api.http.head(url, headers={"range": "bytes=0-1"}), await api.http.get(url)
        assert (head.status_code, head.content) == (200, b"")
        own = {"x-request-id"}
        assert {k: v for k, v in head.headers.items() if k not in own} == {
            k: v for k, v in get.headers.items() if k not in own
        }

    async def test_a_known_file_is_not_sent_again(self, api: Api) -> None:
        _, user = await signed_up(api, file_part("a"))
        url = path(user["data"]["a"])
        etag = (await api.http.get(url)).headers["etag"]
        answer = await api.http.get(url, headers={"if-none-match": etag})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
        assert answer.headers["cache-control"] == IMMUTABLE

    @pytest.mark.parametrize(("field", "status", "content_range"), RANGES)
    async def test_f9_ranges(self, api: Api, field: str, status: int, content_range: str | None) -> None:
        content = png(LENGTH)
        _, user = await signed_up(api, file_part("a", content=content))
        answer = await api.http.get(path(user["data"]["a"]), headers={"range": field})
        assert (answer.status_code, answer.headers.get("content-range")) == (status, content_range)
        if status == 416:
            assert answer.json()["code"] == "range_not_satisfiable"
        else:
            first, last = re.findall(r"\d+", content_range)[:2] if content_range else (0, 599_999)
            assert answer.content == content[int(first) : int(last) + 1]

    @pytest.mark.parametrize(
        "name",
        [
            "x.png",
            "nobody-" + "0" * 32 + ".png",
            "PROJECT-" + "0" * 32 + ".png",
            "..%2f..%2fetc",
            "%00",
            "a" * 3000,
            "$ne-" + "0" * 32 + ".png",
        ],
    )
    async def test_what_is_not_there_is_not_found(self, api: Api, name: str) -> None:
        answer = await api.http.get(f"/files/{name.replace('PROJECT', api.project.id)}")
        assert answer.status_code == 404
        assert answer.headers["cache-control"] == "no-store"

    async def test_a_file_of_another_project_is_found_under_its_own_name_only(
        self, api: Api, make_api: MakeApi
    ) -> None:
        other = await make_api()
        _, user = await signed_up(api, file_part("a"))
        url = path(user["data"]["a"]).replace(api.project.id, other.project.id)
        assert (await api.http.get(url)).status_code == 404

    async def test_a_file_without_its_first_chunk_is_not_found(self, api: Api) -> None:
        _, user = await signed_up(api, file_part("a"))
        api.database["files.chunks"].delete_many({})
        assert (await api.http.get(path(user["data"]["a"]))).status_code == 404

    async def test_a_query_is_refused(self, api: Api) -> None:
        _, user = await signed_up(api, file_part("a"))
        assert (await api.http.get(path(user["data"]["a"]) + "?x=1")).status_code == 422
