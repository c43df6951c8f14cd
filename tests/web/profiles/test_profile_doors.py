"""Every door by which data of users comes in judges it by the declared schema of profiles."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, account, data_part, file_part, form, stored
from service.app import create_app
from service.services import Services
from service.settings import Settings
from tests.conftest import BASE_URL, Api, CommandRecorder
from tests.declared import violations
from tests.identity_provider import provider, provider_server
from tests.web.flows.mailbox import ask, newest
from tests.web.profiles.test_profile_schema import PLAN, TEXT, data_of, declare_profile, make_user
from tests.web.sign_in.conftest import make_site
from tests.web.sign_in.site import Site

__all__ = ["make_site", "provider", "provider_server"]

SCHEMA = {
    **PLAN,
    "age": {"type": "integer", "min": 0},
    "born": {"type": "datetime"},
    "nick": {**TEXT, "pattern": "^[a-z]+$"},
    "friend_id": {"type": "reference", "collection": "users"},
    "photo": {"type": "file", "types": ["png"], "max_bytes": 1000},
}
BROKEN: dict[str, Any] = {
    "plan": "gold",
    "age": -1,
    "born": "soon",
    "nick": "A",
    "friend_id": "gone",
    "photo": "me.png",
}
TYPES = {
    ("plan", "enum"),
    ("age", "greater_than_equal"),
    ("born", "datetime_type"),
    ("nick", "string_pattern_mismatch"),
    ("friend_id", "reference_not_found"),
    ("photo", "file_url"),
}


async def token_of(api: Api, **data: Any) -> str:
    answer = await api.signup(**data)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["access_token"])


async def batch(api: Api, *operations: Any, atomic: bool = True) -> httpx2.Response:
    return await api.request("POST", "/api/batch", json={"operations": operations, "atomic": atomic})


async def test_a_signup_keeps_the_schema(api: Api) -> None:
    await declare_profile(api, SCHEMA)
    refused = await api.signup("taken@example.com", "correct horse", **BROKEN)
    assert set(violations(refused)) == {("body", *each) for each in TYPES}
    assert api.database["users"].count_documents({}) == 0
    made = await api.signup(age=3.0, born="2026-01-31", other=[1])
    data = {"age": 3, "born": "2026-01-31T00:00:00.000Z", "other": [1], "plan": "free"}
    assert made.json()["user"]["data"] == data
    assert data_of(api, made.json()["user"]["id"]) == data
    # A bad profile comes before a taken address.
    assert violations(await api.signup(age="x")) == [("body", "age", "int_type")]
    assert violations(await api.signup("b@example.com", age=None)) == [("body", "age", "int_type")]


async def test_a_change_of_a_profile_keeps_the_schema(api: Api) -> None:
    await declare_profile(api, SCHEMA)
    token = await token_of(api, plan="pro")
    refused = await api.as_user(token, "PUT", "/auth-collections/user", json=BROKEN)
    assert set(violations(refused)) == {("body", *each) for each in TYPES}
    user = (await api.as_user(token, "GET", "/auth-collections/user")).json()
    changed = await api.as_user(
        token, "PUT", "/auth-collections/user", json={"age": 4, "born": "2026-01-31", "friend_id": user["id"]}
    )
    assert changed.json()["data"] == {
        "plan": "pro",
        "age": 4,
        "born": "2026-01-31T00:00:00.000Z",
        "friend_id": user["id"],
    }


async def test_servers_keep_the_schema(api: Api) -> None:
    await declare_profile(api, SCHEMA)
    sent = {"email": "ann@example.com", "data": BROKEN}
    places = {("body", "data", *each) for each in TYPES}
    assert set(violations(await api.request("POST", "/auth-collections/users", json=sent))) == places
    ann = await make_user(api)
    assert data_of(api, ann) == {"plan": "free"}
    url = f"/auth-collections/users/{ann}"
    assert set(violations(await api.request("PATCH", url, json={"data": BROKEN}))) == places
    assert (await api.request("PATCH", url, json={"disabled": True})).status_code == 200
    assert (await api.request("PATCH", url, json={"data": {"born": "2026-01-31"}})).status_code == 200
    assert data_of(api, ann) == {"plan": "free", "born": "2026-01-31T00:00:00.000Z"}


@pytest.mark.parametrize("atomic", [True, False])
async def test_a_batch_keeps_the_schema(api: Api, atomic: bool) -> None:
    await declare_profile(api, {**PLAN, "age": {"type": "integer", "min": 0}})
    ann = await make_user(api, age=1)
    step = {"op": "update", "collection": "users", "id": ann}
    good = await batch(api, {**step, "increment": {"age": 2}}, atomic=atomic)
    assert good.status_code == 200, good.text
    for bad in ({"increment": {"age": -9}}, {"data": {"plan": 5}}):
        refused = await batch(api, {**step, **bad}, atomic=atomic)
        body = refused.json() if atomic else refused.json()["results"][0]["error"]
        assert body["code"] == "validation_error"
        (name,) = next(iter(bad.values()))
        assert body["detail"][0]["loc"][-2:] == ["data", name]
    assert data_of(api, ann) == {"plan": "free", "age": 3}


async def test_a_declared_file_comes_as_a_part_and_stays_where_it_is(api: Api) -> None:
    await declare_profile(api, {"photo": SCHEMA["photo"], "age": SCHEMA["age"]}, additional=False)
    headers = FORM_TYPE

    async def send(*parts: bytes) -> httpx2.Response:
        return await api.request("POST", "/auth-collections/signup", content=form(*parts), headers=headers)

    for field in ("other", "age", "username"):
        refused = await send(account(), file_part(field))
        assert violations(refused) == [("body", field, "extra_forbidden")]
    assert (await send(account(), file_part("photo", "me.pdf", b"%PDF-1.4"))).status_code == 415
    assert (await send(account(), file_part("photo", "me.png", PNG + bytes(1000)))).status_code == 413
    assert not any(stored(api.database).values())
    made = await send(account(), file_part("photo"))
    assert made.status_code == 201, made.text
    token, photo = made.json()["access_token"], made.json()["user"]["data"]["photo"]
    kept = await api.as_user(token, "PUT", "/auth-collections/user", json={"photo": photo})
    assert kept.json()["data"] == {"photo": photo}
    other = (await send(account("b@example.com"), file_part("photo"))).json()
    foreign = await api.as_user(token, "PUT", "/auth-collections/user", json={"photo": other["user"]["data"]["photo"]})
    assert violations(foreign) == [("body", "photo", "file_url")]
    undeclared = await api.as_user(
        token, "PUT", "/auth-collections/user", content=form(data_part({}), file_part("other")), headers=headers
    )
    assert violations(undeclared) == [("body", "other", "extra_forbidden")]


async def test_profiles_without_additional_fields_refuse_undeclared_ones(api: Api) -> None:
    await declare_profile(api, {"age": {"type": "integer"}}, additional=False)
    assert violations(await api.signup(nick="x")) == [("body", "nick", "extra_forbidden")]
    assert violations(await api.signup(username=5)) == [("body", "username", "string_type")]
    token = await token_of(api, username="ann", age=3)
    refused = await api.as_user(token, "PUT", "/auth-collections/user", json={"nick": "x"})
    assert violations(refused) == [("body", "nick", "extra_forbidden")]


async def test_k25_a_sign_in_by_mail_makes_a_user_with_the_defaults(api: Api, services: Services) -> None:
    await declare_profile(api, SCHEMA, additional=False)
    asked = await ask(api, "login-email", email="new@example.com", create=True)
    proof = {"flow_id": asked.json()["flow_id"], "code": (await newest(services, api)).code}
    signed_in = await ask(api, "confirm", **proof)
    assert signed_in.status_code == 200, signed_in.text
    assert signed_in.json()["user"]["data"] == {"plan": "free"}


async def test_k25_a_sign_in_through_a_provider_makes_a_user_of_what_fits(make_site: Any) -> None:
    site: Site = await make_site(PROFILE_CLAIMS="name,plan=name,given=given_name,born=name")
    schema = {**SCHEMA, "username": {**TEXT, "max_length": 2, "default": "x"}, "name": TEXT}
    await declare_profile(site.api, schema, additional=False)
    ended = await site.sign_in("ada")
    assert ended.error is None
    (user,) = site.users()
    assert user["data"] == {"name": "Ada Lovelace", "plan": "free", "username": "x"}


@pytest.fixture
async def elsewhere(api: Api, settings: Settings) -> AsyncIterator[Api]:
    """The project through a second worker, with what that remembers itself."""
    app = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=BASE_URL) as client,
    ):
        yield Api(api.project, api.key, client, api.database, api.publishable_key)


async def test_a_worker_with_an_old_schema_writes_by_the_new_one(api: Api, elsewhere: Api) -> None:
    token = await token_of(elsewhere, born="2026-01-30")
    await declare_profile(api, {**PLAN, "born": TEXT})
    made = await elsewhere.signup("b@example.com", born="2026-01-31")
    assert made.json()["user"]["data"] == {"born": "2026-01-31", "plan": "free"}
    await declare_profile(api, {**PLAN, "age": {"type": "integer"}})
    changed = await elsewhere.as_user(token, "PUT", "/auth-collections/user", json={"age": 3.0})
    assert changed.json()["data"]["age"] == 3
    refused = await elsewhere.as_user(token, "PUT", "/auth-collections/user", json={"age": "x"})
    assert violations(refused) == [("body", "age", "int_type")]


async def test_a_project_without_a_schema_is_asked_nothing_more(api: Api, commands: CommandRecorder) -> None:
    token = await token_of(api, name="Ann")
    await api.as_user(token, "PUT", "/auth-collections/user", json={"age": 33})
    await make_user(api, "bob", nick="Bob")
    assert [name for name, command in commands.commands if command.get(name) == "profile"] == []
