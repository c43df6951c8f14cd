"""Signup, login and the profile as the specification's sections 2.1, 4.1, 5.1 and 7.1 have them."""

import re
from typing import Any

import pytest

from tests.conftest import Api, MakeApi

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_signup_answers_with_a_token_and_the_user(api: Api) -> None:
    response = await api.signup("Ann@Example.com", name="Ann", tags=["a", {"b": None}])
    assert response.status_code == 201
    body = response.json()
    assert body.keys() == {"access_token", "token_type", "user"}
    assert body["token_type"] == "bearer"
    assert body["user"].keys() == {"id", "email", "data", "created_at", "email_verified"}
    assert body["user"]["email"] == "ann@example.com"
    assert body["user"]["data"] == {"name": "Ann", "tags": ["a", {"b": None}]}
    assert re.fullmatch(r"[0-9a-f]{24}", body["user"]["id"])
    assert TIME.fullmatch(body["user"]["created_at"])


async def test_signup_stores_a_bcrypt_hash_and_nothing_else_of_the_password(api: Api) -> None:
    await api.signup(password="correct horse")
    (record,) = api.database["users"].find()
    assert record["password"].startswith("$2b$04$")
    assert "correct horse" not in str(record)
    assert record.keys() == {
        "_id",
        "email",
        "password",
        "data",
        "created_at",
        "updated_at",
        "token_version",
        "files",
        "version",
        "by",
    }


async def test_signup_refuses_an_email_that_exists(api: Api) -> None:
    await api.signup()
    response = await api.signup(password="another password")
    assert response.status_code == 400
    assert response.json() == {"detail": "Email already registered", "code": "email_already_registered"}


async def test_signup_in_another_project_is_another_account(make_api: MakeApi) -> None:
    one, two = await make_api(), await make_api()
    assert (await one.signup()).status_code == 201
    assert (await two.signup()).status_code == 201
    assert (await two.users()).json()["total"] == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("email", "missing"), ("password", "missing")]),
        ({"email": "x", "password": "12345678"}, [("email", "value_error")]),
        ({"email": None, "password": 12345678}, [("email", "string_type"), ("password", "string_type")]),
        ({"email": "a@b.co", "password": "1234567"}, [("password", "string_too_short")]),
        ({"email": "a@b.co", "password": "12345678", "id": "x"}, [("id", "reserved")]),
        (
            {"email": "a@b.co", "password": "1", "oauth_id": 1, "$x": 1},
            [("password", "string_too_short"), ("oauth_id", "reserved"), ("$x", "field_name")],
        ),
    ],
)
async def test_signup_names_every_broken_rule(api: Api, body: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    response = await api.request("POST", "/auth-collections/signup", json=body)
    assert response.status_code == 422
    found = response.json()
    assert found["code"] == "validation_error"
    assert [(error["loc"], error["type"]) for error in found["detail"]] == [
        (["body", name], kind) for name, kind in expected
    ]
    assert all(error["msg"] for error in found["detail"])
    assert api.database["users"].count_documents({}) == 0


async def test_the_password_minimum_is_a_project_setting(make_api: MakeApi) -> None:
    api = await make_api(PASSWORD_MIN_LENGTH="12")
    response = await api.signup(password="x" * 11)
    assert response.json()["detail"][0]["msg"] == "Password must have at least 12 characters"
    assert (await api.signup(password="x" * 12)).status_code == 201


async def test_login_answers_as_signup_does(api: Api) -> None:
    user = (await api.signup(name="Ann")).json()["user"]
    response = await api.login("ANN@example.com")
    assert response.status_code == 200
    assert response.json()["user"] == user
    assert response.json()["token_type"] == "bearer"


async def test_login_with_a_wrong_password(api: Api) -> None:
    await api.signup()
    response = await api.login(password="wrong password")
    assert response.status_code == 401
    assert response.json() == {"detail": "Invalid email or password", "code": "invalid_credentials"}


async def test_login_of_an_unknown_user(api: Api) -> None:
    response = await api.login("nobody@example.com")
    assert response.status_code == 404
    assert response.json() == {"detail": "User not found", "code": "user_not_found"}


async def test_login_refuses_unknown_fields(api: Api) -> None:
    response = await api.request(
        "POST", "/auth-collections/login", json={"email": "a@b.co", "password": "x", "totp": "1"}
    )
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["body", "totp"]


async def test_profile_has_updated_at(api: Api) -> None:
    signed_up = (await api.signup(name="Ann")).json()
    response = await api.as_user(signed_up["access_token"], "GET", "/auth-collections/user")
    assert response.status_code == 200
    assert response.json() == {**signed_up["user"], "updated_at": signed_up["user"]["created_at"]}


async def test_update_sets_the_named_fields_and_leaves_the_others(api: Api) -> None:
    signed_up = (await api.signup(name="Ann", city="Bonn", tags=[1])).json()
    response = await api.as_user(
        signed_up["access_token"], "PUT", "/auth-collections/user", json={"city": None, "0": "zero", "tags": {"x": 1}}
    )
    assert response.status_code == 200
    body = response.json()
    assert body["data"] == {"name": "Ann", "city": None, "0": "zero", "tags": {"x": 1}}
    assert body["updated_at"] >= body["created_at"]
    assert body == (await api.as_user(signed_up["access_token"], "GET", "/auth-collections/user")).json()


async def test_update_accepts_what_a_client_read(api: Api) -> None:
    signed_up = (await api.signup(name="Ann")).json()
    user = signed_up["user"]
    body = {"id": user["id"], "email": "ANN@example.com", "name": "Bea"}
    response = await api.as_user(signed_up["access_token"], "PUT", "/auth-collections/user", json=body)
    assert response.status_code == 200
    assert response.json()["data"] == {"name": "Bea"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "0" * 24),
        ("email", "bea@example.com"),
        ("email", 5),
        ("password", "new password"),
        ("created_at", "2026-01-01T00:00:00Z"),
        ("updated_at", 1),
        ("oauth_id", "x"),
    ],
)
async def test_update_refuses_what_cannot_be_changed(api: Api, name: str, value: Any) -> None:
    signed_up = (await api.signup(name="Ann")).json()
    before = api.database["users"].find_one({}, {"last_sign_in_at": 0})
    response = await api.as_user(signed_up["access_token"], "PUT", "/auth-collections/user", json={"x": 1, name: value})
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["body", name]
    assert api.database["users"].find_one({}, {"last_sign_in_at": 0}) == before


async def test_a_record_that_would_exceed_16_mb_is_refused(api: Api) -> None:
    token = (await api.signup()).json()["access_token"]
    api.database["users"].update_one({}, {"$set": {"data.big": "x" * (16 * 1024 * 1024 - 500_000)}})
    response = await api.as_user(token, "PUT", "/auth-collections/user", json={"more": "x" * 900_000})
    assert response.status_code == 413
    assert response.json()["code"] == "too_large"


async def test_an_unknown_path_and_a_wrong_method_are_json_errors(api: Api) -> None:
    missing = await api.request("GET", "/auth-collections/nothing")
    assert (missing.status_code, missing.json()) == (404, {"detail": "Not Found", "code": "not_found"})
    wrong = await api.request("DELETE", "/auth-collections/signup")
    assert (wrong.status_code, wrong.json()) == (405, {"detail": "Method Not Allowed", "code": "method_not_allowed"})
    assert wrong.headers["allow"] == "POST"
    assert (await api.request("PATCH", "/auth-collections/user")).headers["allow"] == "DELETE, GET, HEAD, PUT"


async def test_every_answer_carries_its_request_id_and_forbids_caching(api: Api) -> None:
    response = await api.request("GET", "/auth-collections/users", headers={"x-request-id": "my-request-1"})
    assert response.headers["x-request-id"] == "my-request-1"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
