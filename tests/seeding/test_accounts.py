"""Row V37: a seed sets the fields of accounts, where a signup and a profile store plain data of such names."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Api, MakeApi
from tests.seeding.test_seed import Run, counts, run

__all__ = ["run"]

ROW = "disabled: true, roles: [admin, staff, admin], claims: {plan: pro, seats: 5}, email_verified: true"
SEED = """
project: {{id: "{id}", name: A project}}
users:
  - rows:
      - {{email: ann@example.com, password: correct horse, name: Ann{more}}}
"""
USERS = "/auth-collections/users"
UNSET = {"disabled": False, "email_verified": False, "claims": {}}
SET = {"disabled": True, "email_verified": True, "claims": {"plan": "pro", "seats": 5}, "roles": ["admin", "staff"]}


async def account(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    (user,) = (await api.users()).json()["users"]
    names = {"disabled", "email_verified", "claims", "roles"}
    return {name: value for name, value in user.items() if name in names}, user["data"]


def text(api: Api, more: str = ROW) -> str:
    return SEED.format(id=api.project.id, more=f", {more}" if more else "")


async def test_v37_a_seed_sets_the_fields_of_an_account(api: Api, run: Run) -> None:
    assert counts(await run(text(api), dry_run=True))["users"] == {"created": 1}
    assert (await api.users()).json()["total"] == 0
    assert counts(await run(text(api)))["users"] == {"created": 1}
    assert await account(api) == (SET, {"name": "Ann"})
    assert (await api.login()).json()["code"] == "account_disabled"
    assert counts(await run(text(api)))["users"] == {"unchanged": 1}


async def test_v37_a_seeded_user_with_a_proven_address_logs_in_where_that_is_required(
    make_api: MakeApi, run: Run
) -> None:
    api = await make_api(EMAIL_VERIFICATION="required")
    await run(text(api, "email_verified: true"))
    assert (await api.login()).status_code == 200


async def test_v37_a_second_seed_sets_what_differs_and_leaves_the_rest(api: Api, run: Run) -> None:
    token = (await api.signup(name="Ann")).json()["access_token"]
    assert await account(api) == (UNSET, {"name": "Ann"})
    first = await run(text(api, "roles: [admin], claims: {plan: pro}"))
    (line,) = first.differences["users"]
    assert line == '~ users ann@example.com: claims: {} -> {"plan":"pro"}, roles: [] -> ["admin"]'
    assert await account(api) == ({**UNSET, "claims": {"plan": "pro"}, "roles": ["admin"]}, {"name": "Ann"})
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 200
    before = await account(api)
    assert counts(await run(text(api, "disabled: true"), dry_run=True))["users"] == {"updated": 1}
    assert await account(api) == before
    await run(text(api, "disabled: true"))
    assert (await account(api))[0] == {**before[0], "disabled": True}
    # Disabling by a seed is disabling: sessions end, and there is an event.
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 401
    events = (await api.request("GET", "/auth-collections/events")).json()["events"]
    assert "user_disabled" in {event["type"] for event in events}
    assert counts(await run(text(api, "disabled: true, roles: [admin]")))["users"] == {"unchanged": 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('disabled: "yes"', "disabled: Must be true or false"),
        ("disabled: 1", "disabled: Must be true or false"),
        ("disabled: null", "disabled: Must be true or false"),
        ("email_verified: 'true'", "email_verified: Must be true or false"),
        ("claims: pro", "claims: Must be an object"),
        ("claims: {a: " + "x" * 900 + "}", "claims: Claims may have at most 800 bytes"),
        ("roles: admin", "roles: Must be a list of texts"),
        ("roles: [1]", "roles: Must be a list of texts"),
        ("roles: [Admin]", "roles.0: "),
        ("roles: [" + ", ".join(f"r{n}" for n in range(17)) + "]", "roles: A user has at most 16 roles"),
    ],
)
async def test_v37_a_bad_type_refuses_the_row_by_the_fields_name(api: Api, run: Run, row: str, reason: str) -> None:
    for dry_run in (True, False):
        report = await run(text(api, row), dry_run=dry_run)
        assert counts(report)["users"] == {"refused": 1}
        assert report.refusals["users"][0].startswith(f"! users[0].rows[0]: {reason}")
    assert (await api.users()).json()["total"] == 0


async def test_v37_the_cells_of_a_csv_file_are_read_by_the_accounts_types(api: Api, run: Run, tmp_path: Path) -> None:
    header = "email,password,disabled,email_verified,claims,roles,name\n"
    good = 'ann@example.com,correct horse,TRUE,,"{""plan"":""pro""}","[""admin""]",Ann\n'
    (tmp_path / "people.csv").write_text(f"{header}{good}bob@example.com,correct horse,yes,,,,Bob\n")
    report = await run(f"project: {{id: '{api.project.id}', name: P}}\nusers: [{{file: people.csv}}]")
    assert counts(report)["users"] == {"created": 1, "refused": 1}
    assert report.refusals["users"] == ['! people.csv:3: disabled: "yes" is not boolean']
    assert await account(api) == (
        {"disabled": True, "email_verified": False, "claims": {"plan": "pro"}, "roles": ["admin"]},
        {"name": "Ann"},
    )


async def test_v37_a_server_makes_a_user_with_roles(api: Api) -> None:
    body = {"email": "ann@example.com", "password": "correct horse", "roles": ["admin", "staff", "admin"]}
    made = await api.request("POST", USERS, json=body)
    assert (made.status_code, made.json()["roles"]) == (201, ["admin", "staff"])
    assert (await api.users("roles_eq=staff")).json()["total"] == 1
    for roles in ("admin", ["Admin"], [f"r{n}" for n in range(17)], [1], None):
        refused = await api.request("POST", USERS, json={"email": "bob@example.com", "roles": roles})
        assert (refused.status_code, refused.json()["detail"][0]["loc"][:2]) == (422, ["body", "roles"])
    assert (await api.users()).json()["total"] == 1


async def test_x6_a_signup_and_a_profile_store_such_names_as_plain_data(api: Api) -> None:
    data: dict[str, Any] = {"roles": ["admin"], "disabled": True, "email_verified": True, "claims": {"plan": "pro"}}
    token = (await api.signup(**data)).json()["access_token"]
    assert (await api.as_user(token, "PUT", "/auth-collections/user", json=data)).status_code == 200
    assert await account(api) == (UNSET, data)
    assert (await api.login()).status_code == 200
