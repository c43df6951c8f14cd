"""Another password by mail: POST /forgot-password and /reset-password."""

import asyncio

from service.services import Services
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest, verify

NEW = "a better password"
INVALID = (400, {"detail": "Invalid or expired code", "code": "invalid_code"})


async def begin(services: Services, api: Api) -> dict[str, str]:
    """The proof that the mail brings."""
    asked = await ask(api, "forgot-password", email="ann@example.com")
    assert asked.status_code == 202
    return {"flow_id": asked.json()["flow_id"], "code": (await newest(services, api, "ann@example.com")).code}


async def test_a_code_brings_another_password_and_ends_all_sessions(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    proof = await begin(services, api)
    done = await ask(api, "reset-password", password=NEW, **proof)
    assert (done.status_code, done.content) == (204, b"")
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 401
    assert (await api.login()).status_code == 401
    assert (await api.login(password=NEW)).status_code == 200
    again = await ask(api, "reset-password", password="yet another one", **proof)
    assert (again.status_code, again.json()) == INVALID
    user = api.database["users"].find_one({"email": "ann@example.com"})
    assert user is not None
    # The reader of the mail has the address.
    assert user["email_verified"] is True
    kinds = [mail.kind for mail in await mailed(services, api)]
    assert kinds == ["password_changed"]


async def test_a_link_brings_another_password_once(api: Api, services: Services) -> None:
    await api.signup()
    await begin(services, api)
    token = (await newest(services, api)).link.partition("?t=")[2]
    bodies = [{"token": token, "password": f"{NEW} {number}"} for number in range(4)]
    statuses = [
        answer.status_code for answer in await asyncio.gather(*(ask(api, "reset-password", **b) for b in bodies))
    ]
    assert sorted(statuses) == [204, 400, 400, 400]


async def test_a_refused_password_spends_nothing(api: Api, services: Services) -> None:
    await api.signup()
    proof = await begin(services, api)
    for password in ("short", "x" * 73):
        refused = await ask(api, "reset-password", password=password, **proof)
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "password"])
    assert (await ask(api, "reset-password", password=NEW, **proof)).status_code == 204


async def test_a_reset_voids_what_else_the_user_was_mailed(api: Api, services: Services) -> None:
    await api.signup()
    other = {"flow_id": (await ask(api, "verify-email", email="ann@example.com")).json()["flow_id"]}
    other["code"] = (await newest(services, api)).code
    proof = await begin(services, api)
    assert (await ask(api, "reset-password", password=NEW, **proof)).status_code == 204
    late = await ask(api, "confirm", **other)
    assert (late.status_code, late.json()) == INVALID


async def test_e6_a_code_is_good_for_its_own_purpose(api: Api, services: Services) -> None:
    await api.signup()
    reset = await begin(services, api)
    verifying = {"flow_id": (await ask(api, "verify-email", email="ann@example.com")).json()["flow_id"]}
    verifying["code"] = (await newest(services, api)).code
    for path, proof in (("confirm", reset), ("reset-password", {**verifying, "password": NEW})):
        answer = await ask(api, path, **proof)
        assert (answer.status_code, answer.json()) == INVALID
    assert (await api.login()).status_code == 200


async def test_e4_strangers_the_passwordless_and_the_disabled_are_answered_alike(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    await api.signup()
    await verify(services, api, "bob@example.com")
    for name, changes in (("idp", {"password": "idp@example.com"}), ("off", {"disabled": True})):
        await api.signup(f"{name}@example.com")
        api.database["users"].update_one({"email": f"{name}@example.com"}, {"$set": changes})
    seen = []
    for name in ("ann", "bob", "idp", "off", "nobody"):
        commands.commands.clear()
        answer = await ask(api, "forgot-password", email=f"{name}@example.com")
        body = {field: len(str(value)) for field, value in answer.json().items()}
        seen.append((answer.status_code, body, sorted(answer.headers), commands.names))
    assert [each == seen[0] for each in seen] == [True] * 5
    resets = [mail.to for mail in await mailed(services, api) if mail.kind == "reset_password"]
    assert sorted(to or "" for to in resets) == [f"{name}@example.com" for name in ("ann", "bob", "idp", "off")]


async def test_an_address_that_somebody_else_has_by_now_resets_nothing(api: Api, services: Services) -> None:
    await api.signup()
    proof = await begin(services, api)
    api.database["users"].update_one({"email": "ann@example.com"}, {"$set": {"email": "other@example.com"}})
    answer = await ask(api, "reset-password", password=NEW, **proof)
    assert (answer.status_code, answer.json()) == INVALID


async def test_no_more_codes_than_the_project_allows(make_api: MakeApi) -> None:
    api = await make_api(CODE_LIMIT="1")
    body = {"flow_id": "x", "code": "1", "password": NEW}
    assert [(await ask(api, "reset-password", **body)).status_code for _ in range(2)] == [400, 429]
