"""Unexpected requests, made of good ones to every route: the service never fails, and goes on.

The short form runs with every test; `scripts/fuzz` runs any number. Both are seeded and end by themselves.
"""

import json
import logging
import os
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
import structlog
from starlette.applications import Starlette

from faults.samples import FORM_TYPE, file_part, form
from service.errors import (
    AggregationConflict,
    CountChanged,
    EnrolmentRequired,
    FactorRequired,
    RuleConflict,
    RuleTestsFailed,
    SchemaConflict,
)
from tests.conftest import Api, MakeApi
from tests.fuzz.drafts import ENDPOINTS, RULES, SAVED, SCHEMA, WEIGHTS, Scene, Visitor, draft
from tests.fuzz.exchange import Answer, Case, exchange, finished
from tests.fuzz.mutations import MUTATIONS
from tests.threats.conftest import INTERNALS

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "600"))
SEED = int(os.environ.get("FUZZ_SEED", "20261120"))
# Requests after which the records they made, changed or deleted are restored.
SET_RIGHT_EVERY = 100
TOLD_EVERY = 10_000
ORIGIN = "https://app.example"
CODE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
# A provider that is never called: no invented state leads to it.
COMPLETE, AUTHORIZE = "https://app.example/done", "https://provider.example/authorize"
SETTINGS = {
    # Only pages need one; the requests here come from a server.
    "CAPTCHA": "altcha",
    "ANONYMOUS": "on",
    "ANONYMOUS_LIMIT": "0",
    "TOKEN_ISSUER": "project",
    "CORS_ORIGINS": ORIGIN,
    "IDP_CLIENT_ID": "client",
    "IDP_CLIENT_SECRET": "secret",
    "IDP_REDIRECT_URL": "https://service.example/callback",
    "IDP_COMPLETE_URL": COMPLETE,
    "IDP_AUTHORIZE_URL": AUTHORIZE,
    "IDP_TOKEN_URL": "https://provider.example/token",
    "IDP_USERINFO_URL": "https://provider.example/userinfo",
    # So long that no test outlives one, and yet with refresh tokens.
    "ACCESS_TOKEN_LIFETIME": "2591999",
    "REFRESH_LIMIT": "0",
    "WEBAUTHN_RP_ID": "localhost",
}
# A refused change names the parts it conflicts with.
MORE = {
    SchemaConflict.code: {"conflicts"},
    RuleTestsFailed.code: {"failed"},
    RuleConflict.code: {"rules"},
    AggregationConflict.code: {"errors"},
    CountChanged.code: {"matched"},
    FactorRequired.code: {"flow_id", "methods", "expires_in"},
    EnrolmentRequired.code: {"flow_id"},
}
# The tests' service has no token for metrics and shows no mailbox; a code and a mail to send again are good once. A
# request that opens no WebSocket is refused.
NEVER_GOOD = {
    "/realtime",
    *("/metrics", "/mailbox", "/mailbox/messages", "/mailbox/{asset}"),
    *("/auth-collections/confirm", "/auth-collections/reset-password", "/auth-collections/mails/{id}/retry"),
    *("POST /auth-collections/link", "/auth-collections/token", "/auth-collections/login-id-token"),
    # The provider of the IDP settings has no ID tokens, and no form.
    "/auth-collections/login-id-token/options",
    "POST /auth-collections/auth-idp-redirect/{project_id}/{provider}",
    # The code of a link cannot be made up, nor the id of an identity.
    *("/auth-collections/user/identities/confirm", "/auth-collections/user/identities/{id}"),
    # No user here has a second factor, or is to have one.
    *("/auth-collections/login-factor", "/auth-collections/user/factors/totp/{id}/confirm"),
    *("/auth-collections/login-factor/options", "/auth-collections/login-passkey"),
    "/auth-collections/user/factors/passkey",
    *("/auth-collections/user/factors/{id}", "/auth-collections/user/recovery-codes"),
    # The user has an account.
    "/auth-collections/user/upgrade",
    # To the address that it is already: five others an hour are all that a user may have.
    "/auth-collections/user/email",
}


class Target:
    """A project to aim at, and what came back."""

    def __init__(self, app: Starlette, api: Api, token: str) -> None:
        self.app, self.api, self.token = app, api, token
        self.statuses = Counter[int]()
        self.scene = Scene(api.key, token, {})

    async def set_right(self) -> None:
        """Collections, a document and a file as requests expect them; each is good, and must succeed."""
        listed = await self.api.request("GET", "/api/collections")
        for name in (collection["name"] for collection in listed.json()["collections"]):
            assert (await self.api.request("DELETE", f"/api/collections/{name}")).status_code == 204
        assert (await self.api.request("PUT", "/api/rules", json=RULES)).status_code == 200
        undeclared = await self.api.request("PUT", "/auth-collections/schema", json={"schema": {}})
        assert undeclared.status_code == 200
        made = await self.api.request("POST", "/api/collections", json={"name": "things", "schema": SCHEMA})
        document = await self.api.request("POST", "/api/collections/things/documents", json={"data": {"name": "Ann"}})
        saved = await self.api.request("PUT", "/api/aggregations/things", json=SAVED)
        assert saved.status_code in {200, 201}
        stored = await self.api.as_user(
            self.token, "PUT", "/auth-collections/user", content=form(file_part("picture")), headers=FORM_TYPE
        )
        assert (made.status_code, document.status_code, stored.status_code) == (201, 201, 200)
        other = await self.api.request(
            "POST", "/auth-collections/users", json={"email": f"{time.time_ns()}@example.com"}
        )
        assert other.status_code == 201
        user = stored.json()
        picture = user["data"]["picture"]
        self.scene = Scene(
            self.api.key,
            self.token,
            {
                "name": "things",
                "id": document.json()["id"],
                "file_name": picture.partition("?")[0].rpartition("/")[2],
                "project_id": self.api.project.id,
                "provider": "default",
                "asset": "swagger-ui.css",
            },
            user["id"],
            picture,
            other.json()["id"],
            await self._visit(),
        )

    async def _visit(self) -> Visitor:
        await self.api.signup("visitor@example.com")
        asking, stepping, _, refreshing = [(await self.api.login("visitor@example.com")).json() for _ in range(4)]
        sid = self.api.database["sessions"].find_one({}, sort=[("_id", -1)], skip=1)
        assert sid is not None
        fresh = [(await self.api.signup(f"{time.time_ns()}@example.com")).json()["access_token"] for _ in range(2)]
        tokens = (asking["access_token"], stepping["access_token"])
        return Visitor(*tokens, sid["_id"], refreshing["refresh_token"], *fresh)

    async def send(self, case: Case) -> Answer:
        answer = await exchange(self.app, case)
        self.statuses[answer.status] += 1
        return answer

    async def goes_on(self) -> bool:
        profile = await self.api.as_user(self.token, "GET", "/auth-collections/user")
        return profile.status_code == 200 and profile.json()["email"] == "ann@example.com"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The long form prints its figures, and errors if there are any, not a line for each request."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    yield
    structlog.configure(**before)


@pytest.fixture
async def target(running_app: Starlette, make_api: MakeApi) -> AsyncIterator[Target]:
    api = await make_api(**SETTINGS)
    found = Target(running_app, api, (await api.signup()).json()["access_token"])
    await found.set_right()
    started = time.perf_counter()
    yield found
    seconds, total = time.perf_counter() - started, found.statuses.total()
    print(f"fuzz: {total} requests, {total / seconds:.0f} a second, {dict(sorted(found.statuses.items()))}")  # noqa: T201


@pytest.mark.parametrize("seed", [SEED])
async def test_no_request_makes_the_service_fail(target: Target, seed: int) -> None:
    for number in range(REQUESTS):
        # Its own seed makes each request come again without those before it.
        chance = random.Random(f"{seed} {number}")  # noqa: S311 - repeatable on purpose
        if number % SET_RIGHT_EVERY == 0:
            await target.set_right()
        if number and number % TOLD_EVERY == 0:
            print(f"fuzz: {number} so far")  # noqa: T201
        request = draft(chance.choices(ENDPOINTS, WEIGHTS)[0], target.scene, chance)
        for mutate in chance.choices(MUTATIONS, k=chance.choice((1, 1, 1, 2, 2, 3))):
            mutate(request, chance)
        case = finished(request, chance)
        answer = await target.send(case)
        assert not faults(case, answer), (seed, number, case, answer)
        assert await target.goes_on(), (seed, number, case)
        if case.method == "DELETE" and answer.status == httpx2.codes.NO_CONTENT:
            await target.set_right()


async def test_what_is_made_odd_was_good(target: Target) -> None:
    for endpoint in sorted(ENDPOINTS, key=lambda endpoint: (endpoint[0] == "DELETE", -len(endpoint[1]))):
        case = finished(draft(endpoint, target.scene, random.Random(SEED)))  # noqa: S311
        answer = await target.send(case)
        assert not faults(case, answer), (case, answer)
        assert (answer.status < 400) != bool(NEVER_GOOD & {endpoint[1], " ".join(endpoint)}), (case, answer)


def faults(case: Case, answer: Answer) -> list[str]:
    """The faults of an answer to any request."""
    if case.leaves and answer.status == 0:
        return []
    headers, values = answer.headers, "\n".join(answer.headers.values())
    rules = {
        "status": 200 <= answer.status < 500,
        "headers": headers.keys() >= {"x-request-id", "cache-control", "x-content-type-options"},
        "split header": values.count("\n") == len(headers) - 1 and not re.search("[\r\0]", values),
        "internals": not INTERNALS.search(values),
        "cors": headers.get("access-control-allow-origin", ORIGIN) == ("*" if _is_metadata(case, answer) else ORIGIN),
        "credentials": "access-control-allow-credentials" not in headers,
        "redirect": headers.get("location", COMPLETE).partition("?")[0] in {COMPLETE, AUTHORIZE},
        "no body": not (answer.status in {204, 304} and answer.body),
        "allow": answer.status != httpx2.codes.METHOD_NOT_ALLOWED or "allow" in headers,
        "error": answer.status < 400 or _is_page(case, answer) or _is_our_error(answer),
    }
    return [name for name, holds in rules.items() if not holds]


def _is_metadata(case: Case, answer: Answer) -> bool:
    """True for what any page may read: the metadata of a project as an issuer."""
    return answer.status == httpx2.codes.OK and "/.well-known/" in case.endpoint[1]


def _is_page(case: Case, answer: Answer) -> bool:
    """True for the page that a mail's link leads to."""
    is_html = answer.headers.get("content-type", "").startswith("text/html")
    return case.endpoint[1] == "/auth-collections/link" and is_html


def _is_our_error(answer: Answer) -> bool:
    content = json.loads(answer.body)
    expected = {"detail", "code"} | MORE.get(content.get("code"), set())
    # A batch says which of its operations it was.
    if (
        content.keys() - {"operation"} != expected
        or not CODE.fullmatch(content["code"])
        or INTERNALS.search(str(content))
    ):
        return False
    if answer.status != 422:
        return isinstance(content["detail"], str) and content["detail"] != ""
    entries = content["detail"]
    return bool(entries) and all(
        entry.keys() == {"loc", "msg", "type"} and entry["loc"][0] in {"body", "query", "path", "header"}
        for entry in entries
    )
