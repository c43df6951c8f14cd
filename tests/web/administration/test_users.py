"""Users made, changed, disabled and deleted with the secret key."""

import json
from typing import Any

import bcrypt
import pytest
from joserfc import jwt

from faults.samples import FORM_TYPE, file_part, form
from tests.conftest import Api
from tests.web.rules.conftest import save

USERS, USER = "/auth-collections/users", "/auth-collections/user"
ABSENT = "0" * 24


async def make(api: Api, email: str = "ann@example.com", **fields: Any) -> Any:
    answer = await api.request("POST", USERS, json={"email": email, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def change(api: Api, user_id: str, **fields: Any) -> Any:
    return await api.request("PATCH", f"{USERS}/{user_id}", json=fields)


def errors(answer: Any) -> list[tuple[list[str], str]]:
    assert answer.status_code == 422, answer.text
    return [(each["loc"], each["type"]) for each in answer.json()["detail"]]


def claims_of(api: Api, token: str) -> Any:
    return jwt.decode(token, api.project.signing_key, algorithms=["ES256"]).claims


async def test_a_new_user_is_shown_as_the_secret_key_sees_one(api: Api) -> None:
    fields = {"data": {"name": "Ann"}, "claims": {"plan": "pro"}, "email_verified": True}
    user = await make(api, "Ann@Example.com", password="correct horse", **fields)
    assert list(user) == [
        *("id", "email", "data", "created_at", "email_verified", "disabled", "claims", "updated_at"),
    ]
    assert (user["email"], user["disabled"]) == ("ann@example.com", False)
    assert {name: user[name] for name in fields} == fields
    assert (await api.request("GET", f"{USERS}/{user['id']}")).json() == user
    own = ("id", "email", "data", "created_at", "email_verified")
    assert (await api.login()).json()["user"] == {name: user[name] for name in own}


async def test_profiles_and_sign_ins_show_no_claims_and_lists_by_rule_nothing_of_it(api: Api) -> None:
    await make(api, password="correct horse", claims={"plan": "pro"}, email_verified=True)
    token = (await api.login()).json()["access_token"]
    profile = await api.as_user(token, "GET", USER)
    assert list(profile.json()) == ["id", "email", "data", "created_at", "email_verified", "updated_at"]
    await save(api, {"users": {"read": "users"}})
    (row,) = (await api.as_user(token, "GET", USERS)).json()["users"]
    assert list(row) == ["id", "email", "data", "created_at"]
    assert (await api.users("data.claims.plan_eq=pro")).json()["total"] == 0


async def test_a_taken_address_is_a_conflict(api: Api) -> None:
    await make(api)
    answer = await api.request("POST", USERS, json={"email": "ANN@example.com"})
    assert (answer.status_code, answer.json()) == (
        409,
        {"detail": "Email already registered", "code": "email_already_registered"},
    )
    bob = await make(api, "bob@example.com")
    assert (await change(api, bob["id"], email="ann@example.com", data={"x": 1})).status_code == 409
    assert (await api.request("GET", f"{USERS}/{bob['id']}")).json() == bob


async def test_a_user_without_a_password_cannot_log_in_by_one(api: Api) -> None:
    user = await make(api)
    assert (await api.login(password="ann@example.com")).status_code == 401
    path = f"{USERS}/{user['id']}/password"
    assert (await api.request("PUT", path, json={"password": "correct horse"})).status_code == 204
    assert (await api.login()).status_code == 200


async def test_a_hash_of_another_program_is_taken(api: Api) -> None:
    hashed = bcrypt.hashpw(b"correct horse", bcrypt.gensalt(4)).decode()
    user = await make(api, password_hash=hashed)
    assert (await api.login()).status_code == 200
    other = bcrypt.hashpw(b"another horse", bcrypt.gensalt(4)).decode()
    answer = await api.request("PUT", f"{USERS}/{user['id']}/password", json={"password_hash": other})
    assert answer.status_code == 204
    assert (await api.login()).status_code == 401
    assert (await api.login(password="another horse")).status_code == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("email", "missing")]),
        ({"email": "x"}, [("email", "value_error")]),
        ({"email": "a@b.co", "disabled": "yes"}, [("disabled", "bool_type")]),
        ({"email": "a@b.co", "roles": ["Admin"]}, [("roles.0", "value_error")]),
        ({"email": "a@b.co", "role": []}, [("role", "extra_forbidden")]),
        ({"email": "a@b.co", "claims": None}, [("claims", "dict_type")]),
        ({"email": "a@b.co", "password": "short"}, [("password", "string_too_short")]),
        ({"email": "a@b.co", "password_hash": "short"}, [("password_hash", "value_error")]),
        ({"email": "a@b.co", "password": "long enough", "password_hash": "x"}, [("password_hash", "value_error")]),
        (
            {"email": "a@b.co", "data": {"id": 1, "$x": 1}, "claims": {"a.b": 1}},
            [("data.id", "reserved"), ("data.$x", "field_name"), ("claims.a.b", "field_name")],
        ),
    ],
)
async def test_a_new_user_names_every_broken_rule(api: Api, body: Any, expected: list[tuple[str, str]]) -> None:
    found = errors(await api.request("POST", USERS, json=body))
    assert [(".".join(map(str, loc[1:])), kind) for loc, kind in found] == expected
    assert api.database["users"].count_documents({}) == 0


async def test_i1_a_refused_hash_names_no_form_of_a_hash(api: Api) -> None:
    user = await make(api, password="correct horse")
    for stored in ("short", "$2b$04$short", "$argon2id$x"):
        answers = [
            await api.request("POST", USERS, json={"email": "b@b.co", "password_hash": stored}),
            await api.request("PUT", f"{USERS}/{user['id']}/password", json={"password_hash": stored}),
        ]
        for answer in answers:
            assert errors(answer) == [(["body", "password_hash"], "value_error")]
            assert "$" not in answer.text
    assert api.database["users"].count_documents({}) == 1


async def test_claims_stand_in_tokens_within_800_bytes(api: Api) -> None:
    envelope = len(json.dumps({"a": ""}, separators=(",", ":")))
    largest = {"a": "é" * ((800 - envelope) // 2)}
    user = await make(api, password="correct horse", claims=largest)
    token = (await api.login()).json()["access_token"]
    assert claims_of(api, token)["claims"] == largest
    assert (await api.as_user(token, "GET", USER)).status_code == 200
    found = errors(await change(api, user["id"], claims={"a": largest["a"] + "é"}))
    assert found == [(["body", "claims"], "too_long")]
    assert (await change(api, user["id"], claims={})).json()["claims"] == {}
    assert "claims" not in claims_of(api, (await api.login()).json()["access_token"])


async def test_a_change_merges_data_and_leaves_what_it_does_not_name(api: Api) -> None:
    user = await make(api, data={"name": "Ann", "age": 33}, claims={"plan": "pro"}, email_verified=True)
    changed = (await change(api, user["id"], data={"age": 34})).json()
    assert changed["updated_at"] >= user["updated_at"]
    assert changed == {**user, "data": {"name": "Ann", "age": 34}, "updated_at": changed["updated_at"]}
    assert (await change(api, user["id"])).json()["claims"] == {"plan": "pro"}
    moved = (await change(api, user["id"], email="Ann.B@example.com")).json()
    assert (moved["email"], moved["email_verified"]) == ("ann.b@example.com", False)
    proved = await change(api, user["id"], email="ann.c@example.com", email_verified=True)
    assert proved.json()["email_verified"] is True


async def test_a_change_takes_no_password_and_names_broken_rules(api: Api) -> None:
    user = await make(api)
    assert errors(await change(api, user["id"], password="correct horse"))[0][1] == "extra_forbidden"
    found = errors(await change(api, user["id"], data={"email": "x", "password": "y"}))
    assert found == [(["body", "data", "email"], "reserved"), (["body", "data", "password"], "reserved")]
    assert errors(await api.request("PUT", f"{USERS}/{user['id']}/password", json={})) == [
        (["body", "password"], "missing")
    ]


async def test_a_replaced_file_goes_with_a_change_and_all_go_with_the_user(api: Api) -> None:
    signed = (await api.signup()).json()
    upload = {"content": form(file_part("one"), file_part("two")), "headers": FORM_TYPE}
    urls = (await api.as_user(signed["access_token"], "PUT", USER, **upload)).json()["data"]
    user_id = signed["user"]["id"]
    changed = (await change(api, user_id, data={"one": None})).json()
    assert changed["data"] == {"one": None, "two": urls["two"]}
    assert (await api.http.get(urls["one"])).status_code == 404
    assert (await api.http.get(urls["two"])).status_code == 200
    assert (await api.request("DELETE", f"{USERS}/{user_id}")).status_code == 204
    assert (await api.http.get(urls["two"])).status_code == 404
    for name in ("users", "uploads", "files.files", "files.chunks"):
        assert api.database[name].count_documents({}) == 0


async def test_who_is_not_there_is_not_found(api: Api) -> None:
    sent: list[tuple[str, str, Any]] = [
        ("PATCH", "", {"disabled": True}),
        ("DELETE", "", None),
        ("PUT", "/password", {"password": "correct horse"}),
    ]
    for method, suffix, body in sent:
        answer = await api.request(method, f"{USERS}/{ABSENT}{suffix}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "user_not_found")


async def test_a_deleted_users_address_is_free(api: Api) -> None:
    user = (await api.signup()).json()["user"]
    assert (await api.request("DELETE", f"{USERS}/{user['id']}")).status_code == 204
    assert (await api.login()).status_code == 404
    assert (await api.signup()).status_code == 201
