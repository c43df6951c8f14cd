"""User names, and row J23: one holder of a name, whatever its case, width or accents."""

import asyncio
from typing import Any

import httpx2
import pytest

from service.errors import InvalidConfiguration, VersionConflict
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
LOGIN, USER, PASSWORD = "/auth-collections/login", "/auth-collections/user", "correct horse"
TAKEN = (409, "username_taken")


@pytest.fixture
async def api(make_api: MakeApi) -> Api:
    return await make_api(USERNAMES="optional")


async def log_in(api: Api, **body: Any) -> httpx2.Response:
    return await api.request("POST", LOGIN, json={"password": PASSWORD, **body})


def verdict(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


async def test_a_user_signs_in_by_name(api: Api) -> None:
    assert (await api.signup(username="Zoë")).json()["user"]["data"] == {"username": "Zoë"}
    for name in ("Zoë", "zoe", "ZOE"):
        assert (await log_in(api, username=name)).status_code == 200
    assert (await api.login()).status_code == 200
    # Unknown names are answered as unknown addresses, and a name is no address.
    assert verdict(await log_in(api, username="nobody")) == (404, "user_not_found")
    assert verdict(await log_in(api, username="ann@example.com")) == (404, "user_not_found")
    assert verdict(await log_in(api, username="zoe", password="another one")) == (401, "invalid_credentials")
    for body in ({}, {"username": "zoe", "email": "ann@example.com"}, {"username": None}):
        answer = await log_in(api, **body)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "email"])
    # No answer and no filter has the key of a name.
    assert "username_key" not in (await api.users()).text
    assert (await api.users("username_key_eq=zoe")).json()["total"] == 0


async def test_j23_of_fifty_at_once_one_has_the_name(api: Api) -> None:
    spellings = ("ann", "ANN", "\u00e1nn", "\uff21nn", "Ann")
    answers = await asyncio.gather(*(api.signup(f"u{n}@example.com", username=spellings[n % 5]) for n in range(50)))
    assert sorted({verdict(each) for each in answers}) == [(201, ""), TAKEN]
    assert [each.status_code for each in answers].count(201) == 1


async def test_j23_a_name_is_changed_given_up_and_kept(api: Api) -> None:
    ann, bob = [(await api.signup(f"{name}@example.com", username=name)).json() for name in ("ann", "bob")]

    async def change(token: str, **data: Any) -> tuple[int, str]:
        return verdict(await api.as_user(token, "PUT", USER, json=data))

    assert await change(bob["access_token"], username="Ann") == TAKEN
    server = await api.request(
        "PATCH", f"/auth-collections/users/{bob['user']['id']}", json={"data": {"username": "ANN"}}
    )
    assert verdict(server) == TAKEN
    # The own name may be spelled otherwise; what is given up is free.
    assert await change(ann["access_token"], username="ÁNN", city="Bonn") == (200, "")
    assert (await log_in(api, username="ann")).status_code == 200
    assert await change(ann["access_token"], username=None) == (200, "")
    assert await change(bob["access_token"], username="Ann") == (200, "")
    assert (await log_in(api, username="ann")).json()["user"]["id"] == bob["user"]["id"]
    assert verdict(await log_in(api, username="bob")) == (404, "user_not_found")


@pytest.mark.parametrize("name", ["ann@example.com", "an", "a" * 33, "ann b", "", None, 123])
async def test_j23_a_name_has_its_form(api: Api, name: Any) -> None:
    answer = await api.signup(username=name)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "username"])
    made = {"email": "ann@example.com", "data": {"username": name}}
    answer = await api.request("POST", "/auth-collections/users", json=made)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "data", "username"])


async def test_j23_neither_a_batch_nor_a_file_goes_past_the_form(api: Api) -> None:
    ann = (await api.signup(username="ann")).json()
    for change in ({"data": {"username": "bob@example.com"}}, {"push": {"username": "bob"}}):
        step = {"op": "update", "collection": "users", "id": ann["user"]["id"], **change}
        assert (
            await api.as_user(ann["access_token"], "POST", "/api/batch", json={"operations": [step]})
        ).status_code == 422
    files = {"username": ("bob.png", PNG, "image/png")}
    form: Any = {"data": (None, '{"email": "bob@example.com", "password": "correct horse"}')}
    for answer in (
        await api.as_user(ann["access_token"], "PUT", USER, files=files),
        await api.request("POST", "/auth-collections/signup", files=form | files),
    ):
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "username"])
    assert [user["data"] for user in api.database["users"].find()] == [{"username": "ann"}]


async def test_a_project_can_require_names(make_api: MakeApi) -> None:
    api = await make_api(USERNAMES="required", ANONYMOUS="on")
    missing = await api.signup()
    assert (missing.status_code, missing.json()["detail"][0]["type"]) == (422, "missing")
    token = (await api.signup(username="ann")).json()["access_token"]
    assert (await api.as_user(token, "PUT", USER, json={"username": None})).status_code == 422
    assert (await api.as_user(token, "PUT", USER, json={"city": "Bonn"})).status_code == 200
    # A user without an account needs no name, and may have one.
    assert (await ask(api, "signup-anonymous")).status_code == 201
    assert verdict(await ask(api, "signup-anonymous", username="ANN")) == TAKEN


async def test_guesses_by_name_and_by_address_are_counted_together(make_api: MakeApi) -> None:
    api = await make_api(USERNAMES="optional", LOGIN_FAILURES="true")
    await api.signup(username="ann")
    wrong = [{"username": "ann"}, {"email": "ann@example.com"}] * 5
    assert {(await log_in(api, **body, password="another one")).status_code for body in wrong} == {401}
    for body in wrong[:2]:
        assert (await log_in(api, **body)).status_code == 429


async def test_names_are_plain_data_unless_the_project_says_so(make_api: MakeApi) -> None:
    api = await make_api()
    for number in range(2):
        assert (await api.signup(f"u{number}@example.com", username="ann b")).status_code == 201
    refused = await log_in(api, username="ann")
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "username"])
    methods = await api.request("GET", "/auth-collections/sign-in-methods")
    assert methods.json()["usernames"] is False


async def test_names_are_switched_on_where_none_clash(make_api: MakeApi, services: Services) -> None:
    api, changes = await make_api(), services.base.setting_changes
    for email, name in (("a@example.com", "ann"), ("b@example.com", "Ánn"), ("c@example.com", "cyd")):
        await api.signup(email, username=name)
    users = api.database["users"]
    # As users were before there were names.
    users.update_many({}, {"$unset": {"username_key": ""}})
    for dry_run in (True, False):
        with pytest.raises(InvalidConfiguration, match=r"several users have the same name: (ann|Ánn)$"):
            await changes.change(api.project.id, {"USERNAMES": "optional"}, dry_run=dry_run)
    assert "username_key" not in users.index_information()
    users.delete_one({"email": "b@example.com"})
    # A change that is refused leaves no index.
    with pytest.raises(VersionConflict):
        await changes.change(api.project.id, {"USERNAMES": "optional"}, if_match=(99,))
    assert "username_key" not in users.index_information()
    await changes.change(api.project.id, {"USERNAMES": "optional"})
    assert (await log_in(api, username="ANN")).status_code == 200
    assert verdict(await api.signup("d@example.com", username="Cyd")) == TAKEN
    # Switched off, names stay and need not be unique.
    await changes.change(api.project.id, {"USERNAMES": "off"})
    assert (await log_in(api, username="ann")).status_code == 422
    assert (await api.signup("d@example.com", username="Cyd")).status_code == 201
