"""Sign-ins that make a user, and those that are refused: specification section 5.2 and rows O5, O7, O8, A1, A3 and A5."""

import asyncio
import time

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from pymongo.errors import DuplicateKeyError

from service.app import create_app
from service.schema.values import now, write_time
from service.services import Services
from service.settings import Settings
from tests.conftest import BASE_URL, Api, CommandRecorder
from tests.web.sign_in.site import Site


@pytest.fixture
def patient_sign_ins(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is busy with other things, twenty at one provider take longer than one waits for a place."""
    monkeypatch.setattr(services.sign_in.shares, "seconds", 60.0)


async def test_a_new_user_is_stored_as_specified(site: Site) -> None:
    end = await site.sign_in("ada")
    (stored,) = site.users()
    assert stored == {
        "_id": stored["_id"],
        "email": "ada@example.com",
        "password": "ada@example.com",
        "oauth_id": "sub-ada",
        "identities": [{"issuer": site.provider.issuer(), "subject": "sub-ada"}],
        "data": {"username": "ada_lovelace"},
        # The fold of the name, for projects with USERNAMES.
        "username_key": "ada_lovelace",
        "files": {},
        "created_at": stored["created_at"],
        "updated_at": stored["created_at"],
        "token_version": 1,
        "version": 1,
        "by": stored["by"],
        # The provider asserted the address. A mail or a server confirms it, and then the second field goes.
        "email_verified": True,
        "email_asserted": True,
    }
    shown = await site.user(end.token)
    assert shown["email_verified"] is True
    assert shown.keys() == {"id", "email", "data", "created_at", "updated_at", "email_verified"}
    assert shown["data"] == {"username": "ada_lovelace"}


async def test_the_token_verifies_with_the_projects_public_keys(site: Site) -> None:
    token = (await site.sign_in("ada")).token
    jwks = await site.api.http.get(f"/auth-collections/jwks/{site.api.project.id}")
    claims = jwt.decode(token, KeySet.import_key_set(jwks.json()), algorithms=["ES256"]).claims
    assert claims["sub"] == site.users()[0]["_id"]
    assert claims["exp"] - claims["iat"] == 30 * 24 * 3600


@pytest.mark.parametrize(("account", "name"), [("björn", "bjorn_oneill"), ("иван", "иван_петров")])
async def test_the_user_name_is_made_of_the_providers_name(site: Site, account: str, name: str) -> None:
    assert (await site.user((await site.sign_in(account)).token))["data"] == {"username": name}


async def test_without_a_name_the_user_name_begins_the_id(site: Site) -> None:
    user = await site.user((await site.sign_in("nameless")).token)
    assert user["data"] == {"username": user["id"][:8]}


async def test_a_known_user_is_logged_in_and_left_as_they_were(site: Site) -> None:
    first = await site.sign_in("ada")
    before = site.users()
    second = await site.sign_in("ada")
    assert first.token != second.token
    assert site.users() == before
    assert (await site.user(first.token))["id"] == (await site.user(second.token))["id"]


async def test_a_known_subject_is_logged_in_with_another_address(site: Site) -> None:
    await site.sign_in("ada")
    end = await site.sign_in("ada_new_address")
    assert (await site.user(end.token))["email"] == "ada@example.com"
    assert len(site.users()) == 1


@pytest.mark.parametrize("account", ["no_email", "no_email_in_id_token", "null_email", "blank_email"])
async def test_no_email(site: Site, account: str) -> None:
    assert (await site.sign_in(account)).error == "no_email_provided"
    assert site.users() == []


@pytest.mark.parametrize("account", ["ada", "ada_impostor_in_capitals"])
async def test_the_email_of_a_password_user(site: Site, account: str) -> None:
    assert (await site.api.signup("Ada@example.com")).status_code == 201
    before = site.users()
    assert (await site.sign_in(account)).error == "email_already_registered_with_password"
    assert site.users() == before
    assert (await site.api.login("ada@example.com")).status_code == 200


UNVERIFIED = [
    "unverified",
    "unverified_in_id_token",
    "verified_missing",
    "verified_text",
    "verified_text_true",
    "verified_zero",
    "verified_one",
]


@pytest.mark.parametrize("account", UNVERIFIED)
async def test_o5_an_unverified_email_makes_no_user(site: Site, account: str) -> None:
    assert (await site.sign_in(account)).error == "authentication_failed"
    assert site.users() == []


@pytest.mark.parametrize("account", UNVERIFIED)
async def test_o5_an_unverified_email_logs_nobody_in(site: Site, account: str) -> None:
    await site.sign_in("ada")
    subject = site.provider_subject(account)
    site.api.database["users"].update_one({}, {"$set": {"oauth_id": subject}})
    assert (await site.sign_in(account)).error == "authentication_failed"


@pytest.mark.parametrize("account", ["ada_impostor", "ada_impostor_in_capitals"])
async def test_o7_another_subject_with_the_email_of_a_user(site: Site, account: str) -> None:
    await site.sign_in("ada")
    before = site.users()
    assert (await site.sign_in(account)).error == "authentication_failed"
    assert site.users() == before


async def test_o7_a_userinfo_answer_about_another_subject(site: Site) -> None:
    await site.sign_in("ada")
    assert (await site.sign_in("other_userinfo")).error == "authentication_failed"
    assert len(site.users()) == 1


@pytest.mark.usefixtures("patient_sign_ins")
@pytest.mark.parametrize("round_", range(3))
async def test_o8_twenty_first_sign_ins_at_once_make_one_user(site: Site, round_: int) -> None:
    answers = [await site.answer(await site.begin(), "ada") for _ in range(20)]
    responses = await asyncio.gather(*(site.finish(parameters) for parameters in answers))
    tokens = {httpx2.URL(response.headers["location"]).params.get("svc-super-token") for response in responses}
    assert len(tokens - {None}) == 20
    assert {(await site.user(str(token)))["id"] for token in tokens} == {site.users()[0]["_id"]}
    assert len(site.users()) == 1, round_


@pytest.mark.usefixtures("patient_sign_ins")
async def test_o8_twenty_people_with_one_email_make_one_user(site: Site) -> None:
    people = ["ada", "ada_impostor", "ada_impostor_in_capitals", "ada"] * 5
    answers = [await site.answer(await site.begin(), person) for person in people]
    responses = await asyncio.gather(*(site.finish(parameters) for parameters in answers))
    (stored,) = site.users()
    tokens = [httpx2.URL(response.headers["location"]).params.get("svc-super-token") for response in responses]
    expected = [site.provider_subject(person) == stored["oauth_id"] for person in people]
    assert [token is not None for token in tokens] == expected


async def test_a1_the_email_is_lower_cased_like_that_of_a_signup(site: Site) -> None:
    end = await site.sign_in("björn")
    assert (await site.user(end.token))["email"] == "bjorn@example.com"
    taken = await site.api.signup("BJORN@example.com")
    assert (taken.status_code, taken.json()["detail"]) == (400, "Email already registered")
    assert len(site.users()) == 1


async def test_a1_outer_spaces_of_the_email_do_not_count(site: Site) -> None:
    end = await site.sign_in("spaced_email")
    assert (await site.user(end.token))["email"] == "spaced.email@example.com"


@pytest.mark.parametrize("account", ["malformed_email", "control_email", "long_email"])
async def test_a1_a_malformed_email_is_refused(site: Site, account: str) -> None:
    assert (await site.sign_in(account)).error == "authentication_failed"
    assert site.users() == []


@pytest.mark.parametrize("password", ["bjorn@example.com", "Bjorn@Example.COM", "BJORN@EXAMPLE.COM", ""])
@pytest.mark.parametrize("email", ["bjorn@example.com", "Bjorn@Example.COM"])
async def test_a3_the_stored_password_lets_nobody_in(site: Site, email: str, password: str) -> None:
    await site.sign_in("björn")
    response = await site.api.login(email, password)
    assert (response.status_code, response.json()["detail"]) == (401, "Invalid email or password")


async def test_a5_a_provider_user_takes_as_long_to_refuse_as_a_password_user(site: Site, settings: Settings) -> None:
    await site.sign_in("ada")
    await site.api.signup("bob@example.com")
    # A hash of about 60 ms stands out from the noise of a busy machine.
    app = create_app(settings.model_copy(update={"bcrypt_cost": 10}))
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as http:
        api = Api(site.api.project, site.api.key, http, site.api.database)
        await api.signup("carl@example.com")
        logins = [
            ("carl@example.com", "wrong password"),
            ("ada@example.com", "ada@example.com"),
            ("ada@example.com", "x" * 73),
        ]
        rounds = [[await refusal_seconds(api, *login) for login in logins] for _ in range(5)]
    # The least of each: what comes beside it, such as the garbage collector, only adds.
    wrong, provided, too_long = (min(times) for times in zip(*rounds, strict=True))
    assert 0.7 < provided / wrong < 1.4
    assert 0.7 < too_long / wrong < 1.4


async def refusal_seconds(api: Api, email: str, password: str) -> float:
    """The CPU time of a refused login, all threads together: unlike the time on the wall, no other process is in it."""
    started = time.process_time()
    assert (await api.login(email, password)).status_code == 401
    return time.process_time() - started


async def test_a_provider_user_and_a_password_user_live_side_by_side(site: Site) -> None:
    await site.sign_in("ada")
    assert (await site.api.signup("bob@example.com")).status_code == 201
    assert (await site.api.users("oauth_id_isnull=false")).json()["total"] == 0
    assert {user["email"] for user in (await site.api.users()).json()["users"]} == {
        "ada@example.com",
        "bob@example.com",
    }


async def test_a_user_from_before_identities_signs_in_and_gets_one(site: Site) -> None:
    first = await site.sign_in("ada")
    site.api.database["users"].update_one({}, {"$unset": {"identities": 1}})
    second = await site.sign_in("ada")
    assert (await site.user(first.token))["id"] == (await site.user(second.token))["id"]
    (stored,) = site.users()
    assert stored["identities"] == [{"issuer": site.provider.issuer(), "subject": "sub-ada"}]


@pytest.mark.usefixtures("patient_sign_ins")
async def test_of_twenty_sign_ins_of_a_user_from_before_identities_all_end_well(site: Site) -> None:
    await site.sign_in("ada")
    site.api.database["users"].update_one({}, {"$unset": {"identities": 1}})
    answers = [await site.answer(await site.begin(), "ada") for _ in range(20)]
    responses = await asyncio.gather(*(site.finish(parameters) for parameters in answers))
    assert all("svc-super-token" in response.headers["location"] for response in responses)
    assert [len(user["identities"]) for user in site.users()] == [1]


async def test_the_same_subject_at_another_issuer_is_somebody_else(site: Site) -> None:
    await site.sign_in("ada")
    elsewhere = [{"issuer": "https://elsewhere.example.com", "subject": "sub-ada"}]
    site.api.database["users"].update_one({}, {"$set": {"identities": elsewhere, "email": "eve@example.com"}})
    end = await site.sign_in("ada")
    assert (await site.user(end.token))["email"] == "ada@example.com"
    assert {user["email"] for user in site.users()} == {"eve@example.com", "ada@example.com"}


async def test_one_of_several_identities_is_enough(site: Site) -> None:
    await site.sign_in("ada")
    (mine,) = site.users()[0]["identities"]
    several = [{"issuer": "https://elsewhere.example.com", "subject": "other"}, mine]
    site.api.database["users"].update_one({}, {"$set": {"identities": several, "email": "changed@example.com"}})
    end = await site.sign_in("ada")
    assert (await site.user(end.token))["email"] == "changed@example.com"


async def test_no_two_users_have_one_identity(site: Site) -> None:
    await site.sign_in("ada")
    await site.sign_in("björn")
    ada, bjorn = site.users()
    users = site.api.database["users"]
    with pytest.raises(DuplicateKeyError):
        users.update_one({"_id": bjorn["_id"]}, {"$push": {"identities": ada["identities"][0]}})
    # The issuer of one and the subject of the other make a third.
    users.update_one(
        {"_id": bjorn["_id"]}, {"$push": {"identities": {**ada["identities"][0], "issuer": "https://x.y"}}}
    )


async def test_a_sign_in_looks_only_at_users_that_an_index_finds(site: Site, commands: CommandRecorder) -> None:
    await site.sign_in("ada")
    for number in range(50):
        await site.api.signup(f"user{number}@example.com")
    commands.commands.clear()
    await site.sign_in("ada")
    (command,) = (sent for name, sent in commands.commands if name == "aggregate" and sent["aggregate"] == "users")
    explained = site.api.database.command(
        "explain",
        {"aggregate": "users", "pipeline": command["pipeline"], "cursor": {}},
        verbosity="executionStats",
    )
    assert explained["executionStats"]["totalDocsExamined"] <= 3


async def test_d3_a_disabled_user_is_not_signed_in_by_a_provider(site: Site) -> None:
    user = await site.user((await site.sign_in("ada")).token)
    path = f"/auth-collections/users/{user['id']}"
    await site.api.request("PATCH", path, json={"disabled": True, "claims": {"plan": "pro"}})
    assert (await site.sign_in("ada")).error == "authentication_failed"
    await site.api.request("PATCH", path, json={"disabled": False})
    assert (await site.sign_in("ada")).error is None


async def test_f8_a_sign_in_by_a_provider_is_noted(site: Site, services: Services) -> None:
    before = now()
    await site.sign_in("ada")
    await services.sessions.sightings.write()
    (user,) = (await site.api.users()).json()["users"]
    assert write_time(before) <= user["last_sign_in_at"] <= write_time(now())
    (listed,) = (await site.api.users("last_sign_in_at_isnull=false")).json()["users"]
    assert listed == user
