"""Limits as clients see them: specification section 8, with the fields of draft-ietf-httpapi-ratelimit-headers."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from faults.samples import FORM_TYPE, account, file_part, form
from service.domain.limits.policies import DAY, HOUR
from service.web.routes import ROUTES
from tests.conftest import Api, MakeApi

# The end of a window within a test would let more through than its limit.
MARGIN_SECONDS = 30


@pytest.fixture(autouse=True)
def _within_one_hour() -> None:
    if (left := HOUR - time.time() % HOUR) < MARGIN_SECONDS:
        time.sleep(left)


async def test_signups_are_limited_by_default(make_api: MakeApi) -> None:
    api = await make_api(SIGNUP_LIMIT="10")
    statuses = [(await api.signup(f"u{i}@example.com")).status_code for i in range(12)]
    assert statuses == [201] * 10 + [429] * 2
    assert api.database["users"].count_documents({}) == 10


async def test_a_refusal_says_which_limit_and_when_to_come_back(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="1", TIER="free")
    await api.login()
    before = time.time()
    response = await api.login()
    assert response.status_code == 429
    assert response.json() == {
        "detail": "The limit of 1 logins an hour from one address is reached; the project's LOGIN_LIMIT decides it, "
        "see docs/limits.md",
        "code": "rate_limit_exceeded",
    }
    seconds = int(response.headers["retry-after"])
    assert HOUR - time.time() % HOUR - 1 <= seconds <= HOUR - before % HOUR + 1
    assert response.headers["ratelimit-policy"] == '"login";q=1;w=3600'
    assert response.headers["ratelimit"] == f'"login";r=0;t={seconds}'


async def test_successes_and_errors_tell_what_remains(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="20", AUTH_LIMIT="1000", TIER="free")
    response = await api.users()
    assert response.headers["ratelimit-policy"] == '"auth";q=1000;w=3600, "daily";q=1000;w=86400'
    hour, day = (round(length - time.time() % length) for length in (HOUR, DAY))
    policies = [item.split(";") for item in response.headers["ratelimit"].split(", ")]
    assert [(name, r) for name, r, _ in policies] == [('"auth"', "r=999"), ('"daily"', "r=999")]
    resets = [int(t.removeprefix("t=")) for _, _, t in policies]
    assert abs(resets[0] - hour) <= 1
    assert abs(resets[1] - day) <= 1
    assert (await api.login("nobody@example.com")).headers["ratelimit"].startswith('"login";r=19;')
    assert (await api.users("nonsense=1")).headers["ratelimit"].startswith('"auth";r=998;')


async def test_a_project_without_limits_has_no_such_fields(api: Api) -> None:
    assert "ratelimit" not in (await api.users()).headers


async def test_a_malformed_body_counts_as_an_attempt(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="2")
    statuses = [
        (await api.request("POST", "/auth-collections/login", content=b"{")).status_code,
        (await api.request("POST", "/auth-collections/login?x=1", json={})).status_code,
        (await api.login()).status_code,
    ]
    assert statuses == [422, 422, 429]


async def test_a_bad_credential_counts_nothing(make_api: MakeApi, http: httpx2.AsyncClient) -> None:
    api = await make_api(AUTH_LIMIT="1")
    for _ in range(3):
        refused = await http.get("/auth-collections/users", headers={"x-api-key": "nonsense"})
        assert refused.status_code == 401
    assert (await api.users()).status_code == 200


async def test_tokens_and_keys_share_the_limit_of_their_project(make_api: MakeApi) -> None:
    api = await make_api(AUTH_LIMIT="3")
    token = (await api.signup()).json()["access_token"]
    statuses = Counter(
        [(await api.users()).status_code for _ in range(2)]
        + [(await api.as_user(token, "GET", "/auth-collections/user")).status_code for _ in range(3)]
    )
    assert statuses == {200: 3, 429: 2}


async def test_the_day_covers_every_endpoint(make_api: MakeApi) -> None:
    api = await make_api(DAILY_LIMIT="3")
    token = (await api.signup()).json()["access_token"]
    await api.login()
    await api.users()
    refused = [await api.users(), await api.login(), await api.as_user(token, "GET", "/auth-collections/user")]
    assert [response.status_code for response in refused] == [429] * 3
    assert refused[0].json()["detail"] == (
        "The limit of 3 requests a day of this project is reached; the project's TIER and DAILY_LIMIT decide it, "
        "see docs/limits.md"
    )


async def test_counters_are_cleaned_up(
    make_api: MakeApi, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    api = await make_api(LOGIN_LIMIT="2")
    await api.login()
    counters = mongo[f"{database_prefix}system"]["counters"]
    (stored,) = counters.find()
    assert timedelta(hours=1) < stored["expires"] - datetime.now(UTC).replace(tzinfo=None) <= timedelta(hours=2)
    assert counters.index_information()["expires"]["expireAfterSeconds"] == 0


@pytest.mark.parametrize("path", ["/auth-collections/login/", "//auth-collections/login", "/AUTH-COLLECTIONS/LOGIN"])
async def test_l3_other_spellings_of_a_path_are_not_found(make_api: MakeApi, path: str) -> None:
    api = await make_api(LOGIN_LIMIT="1")
    response = await api.http.request("POST", f"http://service.test{path}", headers={"x-api-key": api.key}, json={})
    assert response.status_code == 404


async def test_every_endpoint_of_a_project_is_counted(make_api: MakeApi) -> None:
    """Every route, also a later one, is counted under some limit, or it names no project."""
    api = await make_api(DAILY_LIMIT="1000000", AUTH_LIMIT="1000000", FILE_LIMIT="1000000")
    uncounted = set()
    for route in ROUTES:
        path, methods = getattr(route, "path", ""), getattr(route, "methods", None) or {"GET"}
        for method in methods - {"HEAD", "OPTIONS"}:
            response = await api.request(method, path.replace("{project_id}", api.project.id))
            if "ratelimit" not in response.headers and response.status_code != 401:
                uncounted.add(path)
    # Public keys, health and the API document belong to no project; the name of a file names no project that does not
    # exist. The root describes the service. A socket is counted by its hello. The mailbox exists on a developer's own
    # machine only, and is of all projects.
    nobodys = {"/auth-collections/jwks/{project_id}", "/files/{file_name}", "/health/live", "/health/ready", "/metrics"}
    # The root says what the service is. A socket is counted by its hello. The mailbox is there on a developer's own machine
    # only, and is of all projects.
    nobodys |= {"/", "/realtime", "/mailbox", "/mailbox/messages", "/mailbox/{asset}"}
    # Metadata of an issuer is kept for five minutes, as public keys are.
    nobodys |= {path for path in uncounted if "/.well-known/" in path}
    # A link names no project before it is found, and is 256 random bits.
    nobodys |= {"/auth-collections/link"}
    # A refresh token names its project, and is counted for its session (tests/web/sessions).
    nobodys |= {"/auth-collections/logout", "/auth-collections/refresh"}
    assert uncounted <= nobodys | {"/openapi.json", "/docs", "/docs/{asset}"}


async def picture_of(api: Api) -> str:
    """The URL of a file of the project."""
    content = form(account(), file_part("picture"))
    signed_up = await api.request("POST", "/auth-collections/signup", content=content, headers=FORM_TYPE)
    return str(signed_up.json()["user"]["data"]["picture"])


async def test_n14_reading_files_spends_the_hour_of_an_address_and_not_the_day(make_api: MakeApi) -> None:
    api = await make_api(FILE_LIMIT="3", DAILY_LIMIT="2")
    url = await picture_of(api)
    answers = [await api.http.get(url) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
    assert answers[0].headers["ratelimit-policy"] == '"files";q=3;w=3600'
    assert answers[-1].json()["detail"] == (
        "The limit of 3 file reads an hour from one address is reached; the project's FILE_LIMIT decides it, "
        "see docs/limits.md"
    )
    # The signup was the first of the day; the second is still there.
    assert [(await api.users()).status_code for _ in range(2)] == [200, 429]


async def test_n14_names_of_files_cannot_be_guessed_without_an_end(make_api: MakeApi) -> None:
    api = await make_api(FILE_LIMIT="2")
    path = f"/files/{api.project.id}-{'0' * 32}.png"
    assert [(await api.http.get(path)).status_code for _ in range(3)] == [404, 404, 429]


async def test_n14_sign_ins_without_a_credential_spend_neither_the_hour_nor_the_day(make_api: MakeApi) -> None:
    api = await make_api(AUTH_LIMIT="2", DAILY_LIMIT="3")
    path = f"/auth-collections/auth-idp-redirect/{api.project.id}"
    assert [(await api.http.get(path)).status_code for _ in range(3)] == [400, 400, 429]
    begin = f"/auth-collections/login-idp?project_id={api.project.id}"
    assert (await api.http.get(begin)).status_code == 429
    assert [(await api.users()).status_code for _ in range(3)] == [200, 200, 429]
    assert (await api.request("GET", "/api/collections")).status_code == 200
    assert (await api.request("GET", "/api/collections")).status_code == 429
