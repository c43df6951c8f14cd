"""Proving an address by mail: POST /verify-email and POST /confirm."""

from typing import Any

import pytest

from service.services import Services
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest, verify

INVALID = (400, {"detail": "Invalid or expired code", "code": "invalid_code"})


def is_verified(api: Api, email: str = "ann@example.com") -> Any:
    found: dict[str, Any] = api.database["users"].find_one({"email": email}) or {}
    return found.get("email_verified", False)


async def test_a_code_proves_an_address_once(api: Api, services: Services) -> None:
    await api.signup()
    asked = await ask(api, "verify-email", email="ann@example.com")
    assert asked.status_code == 202
    assert asked.json().keys() == {"flow_id", "expires_in"}
    mail = await newest(services, api)
    assert (mail.to, mail.kind, mail.status) == ("ann@example.com", "verify_email", "kept")
    proof = {"flow_id": asked.json()["flow_id"], "code": mail.code}
    confirmed = await ask(api, "confirm", **proof)
    assert (confirmed.status_code, confirmed.json()) == (200, {"email_verified": True})
    assert is_verified(api)
    again = await ask(api, "confirm", **proof)
    assert (again.status_code, again.json()) == INVALID


async def test_a_link_proves_an_address_once(api: Api, services: Services) -> None:
    await api.signup()
    await ask(api, "verify-email", email="ann@example.com")
    token = (await newest(services, api)).link.partition("?t=")[2]
    assert (await ask(api, "confirm", token=token)).status_code == 200
    assert is_verified(api)
    again = await ask(api, "confirm", token=token)
    assert (again.status_code, again.json()) == INVALID


async def test_e5_a_link_stands_on_the_services_own_address(api: Api, services: Services) -> None:
    await api.signup()
    headers = {"host": "evil.example", "x-forwarded-host": "evil.example", "forwarded": "host=evil.example"}
    await api.request("POST", "/auth-collections/verify-email", json={"email": "ann@example.com"}, headers=headers)
    assert (await newest(services, api)).link.startswith("http://service.test/auth-collections/link?t=")


async def test_e4_strangers_are_answered_alike_by_the_same_commands(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    await api.signup()
    await verify(services, api, "bob@example.com")
    seen = []
    for email in ("ann@example.com", "bob@example.com", "nobody@example.com"):
        commands.commands.clear()
        answer = await ask(api, "verify-email", email=email)
        body = {name: len(str(value)) for name, value in answer.json().items()}
        seen.append((answer.status_code, body, sorted(answer.headers), commands.names))
    assert seen[0] == seen[1] == seen[2]
    assert [mail.to for mail in await mailed(services, api)].count("ann@example.com") == 1
    assert [mail.to for mail in await mailed(services, api)].count("nobody@example.com") == 0


async def test_a_second_request_soon_after_is_the_first(api: Api, services: Services) -> None:
    await api.signup()
    first, second = [await ask(api, "verify-email", email="ann@example.com") for _ in range(2)]
    assert first.json() == second.json()
    assert len(await mailed(services, api)) == 1
    strange, again = [await ask(api, "verify-email", email="nobody@example.com") for _ in range(2)]
    assert strange.json() == again.json()


async def test_a_sixth_mail_in_an_hour_is_not_sent_and_nobody_is_told(api: Api, services: Services, mongo: Any) -> None:
    await api.signup()
    flows = mongo[f"{services.base.databases.prefix}system"]["flows"]
    for _ in range(7):
        assert (await ask(api, "verify-email", email="ann@example.com")).status_code == 202
        flows.update_many({}, {"$unset": {"slot": "", "slot_until": ""}})
    assert len(await mailed(services, api)) == 5


async def test_e4_a_limited_address_is_written_for_as_often_as_any_other(
    api: Api, services: Services, mongo: Any
) -> None:
    """A request that changes nothing is answered sooner, for it does not wait for the journal."""
    system = mongo[f"{services.base.databases.prefix}system"]
    for _ in range(8):
        before = list(system["counters"].find({"_id": {"$regex": "mail_"}}))
        await ask(api, "verify-email", email="nobody@example.com")
        system["flows"].update_many({}, {"$unset": {"slot": "", "slot_until": ""}})
        after = list(system["counters"].find({"_id": {"$regex": "mail_"}}))
        assert len([each for each in after if each not in before]) == 2


async def test_a_project_may_bound_its_mails_of_a_day(make_api: MakeApi, services: Services) -> None:
    api = await make_api(MAIL_LIMIT="1")
    for name in ("ann", "bob"):
        await api.signup(f"{name}@example.com")
        assert (await ask(api, "verify-email", email=f"{name}@example.com")).status_code == 202
    assert [mail.to for mail in await mailed(services, api)] == ["ann@example.com"]


async def test_requests_for_mails_and_codes_are_limited_by_address(make_api: MakeApi) -> None:
    api = await make_api(MAIL_REQUEST_LIMIT="2", CODE_LIMIT="2")
    for path, body in (("verify-email", {"email": "a@example.com"}), ("confirm", {"flow_id": "x", "code": "1"})):
        statuses = [(await ask(api, path, **body)).status_code for _ in range(3)]
        assert statuses[:2] == [statuses[0]] * 2 != statuses[2:] == [429]


@pytest.mark.parametrize("field", ["email_verified", "disabled", "claims", "user_id"])
async def test_e9_no_body_says_what_only_a_proof_does(api: Api, field: str) -> None:
    answer = await ask(api, "verify-email", email="ann@example.com", **{field: True})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", field])
    answer = await ask(api, "confirm", flow_id="a", code="1", **{field: True})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", field])


@pytest.mark.parametrize(
    "body",
    [{}, {"flow_id": "a"}, {"code": "1"}, {"flow_id": "a", "code": "1", "token": "b"}, {"code": "1", "token": "b"}],
)
async def test_a_proof_is_a_code_or_a_token(api: Api, body: dict[str, str]) -> None:
    answer = await ask(api, "confirm", **body)
    msg = "Send either flow_id and code, or token"
    assert answer.json()["detail"] == [{"loc": ["body"], "msg": msg, "type": "value_error"}]


async def test_e10_only_the_projects_own_pages_are_led_to(make_api: MakeApi) -> None:
    api = await make_api(REDIRECT_URLS="https://app.example/done, com.example.app:/done")
    good = await ask(api, "verify-email", email="a@example.com", redirect_to="com.example.app:/done")
    assert good.status_code == 202
    for url in ("https://app.example/done/", "https://evil.example/", "javascript:alert(1)", "//evil.example"):
        bad = await ask(api, "verify-email", email="a@example.com", redirect_to=url)
        msg = "This is not one of the project's REDIRECT_URLS"
        assert bad.json()["detail"] == [{"loc": ["body", "redirect_to"], "msg": msg, "type": "value_error"}]


async def test_a_mail_is_in_the_language_that_is_asked_for(api: Api, services: Services) -> None:
    for name, body, headers in (
        ("ann", {"locale": "de-AT"}, {"accept-language": "fr"}),
        ("bob", {}, {"accept-language": "fr-CH, de;q=0.5"}),
        ("eve", {}, {"accept-language": "x" * 5_000}),
    ):
        await api.signup(f"{name}@example.com")
        wish = {"email": f"{name}@example.com", **body}
        await api.request("POST", "/auth-collections/verify-email", json=wish, headers=headers)
    subjects = {mail.to: mail.subject or "" for mail in await mailed(services, api)}
    assert [subjects[f"{name}@example.com"].split()[0] for name in ("ann", "bob", "eve")] == [
        "Bestätigen",
        "Confirmez",
        "Confirm",
    ]
