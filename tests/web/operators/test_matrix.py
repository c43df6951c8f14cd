"""Each row of the Admin API for each role, stranger and scope: exactly the table, and nothing for anybody else."""

from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from service.web.auth.authenticate import OF_OPERATORS, Credential
from service.web.openapi.endpoint import ApiRoute
from service.web.routes import ADMIN_ROUTES, ROUTES
from tests.conftest import Api
from tests.web.operators.conftest import Browse, Console, Join

# The page about operators, by area: the levels of viewers, editors, admins and owners.
TABLE = {
    "data": "RWWW",
    "schema": "RRWW",
    "users": "RRWW",
    "config": "RRWW",
    "logs": "RRRR",
    "deployment": "---W",
}
ROLES = ("viewer", "editor", "admin", "owner")
# Public rows that serve users, guests and programs of the deployment, not operators.
NOT_MIRRORED = (
    "/auth-collections/signup",
    "/auth-collections/login",
    "/auth-collections/verify-email",
    "/auth-collections/forgot-password",
    "/auth-collections/reset-password",
    "/auth-collections/link",
    "/auth-collections/confirm",
    "/auth-collections/user",
    "/auth-collections/refresh",
    "/auth-collections/logout",
    "/auth-collections/jwks/",
    "/auth-collections/introspect",
    "/auth-collections/issuer/",
    "/.well-known/",
    "/auth-collections/auth-idp-redirect/",
    "/auth-collections/token",
    "/auth-collections/sign-in-methods",
    "/auth-collections/captcha",
    "/auth-idp-redirect/",
    "/realtime",
    "/files/",
    "/mailbox",
    "/health/",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/api/types",
    "/api/openapi.json",
)
ASKED = [
    route for route in ADMIN_ROUTES if route.operator and (route.method, route.path) != ("DELETE", "/admin/v1/session")
]


def test_c20_each_public_row_is_for_operators_or_is_listed_as_not() -> None:
    undecided = [
        f"{route.method} {route.path}"
        for route in ROUTES
        if route.operator is None and not (route.path == "/" or route.path.startswith(NOT_MIRRORED))
    ]
    assert undecided == []
    assert [route.path for route in ROUTES if route.credential in OF_OPERATORS] == []


def test_each_row_of_the_admin_api_names_its_access() -> None:
    without = {f"{route.method} {route.path}" for route in ADMIN_ROUTES if route.operator is None}
    assert without == {
        "POST /admin/v1/session",
        "POST /admin/v1/invitations/check",
        "POST /admin/v1/invitations/accept",
    }


def allows(route: ApiRoute, role: str) -> bool:
    access = route.operator
    assert access is not None
    if access.area in ("any", "session"):
        return True
    wanted = "W" if access.level == "write" else "RW"
    return any(TABLE[area][ROLES.index(role)] in wanted for area in access.areas)


def address(route: ApiRoute, project_id: str) -> str:
    names = {part[1:-1]: "none" for part in route.path.split("/") if part.startswith("{")}
    known = {"project_id": project_id, "id": "0" * 24}
    return route.path.format(**{name: known.get(name, value) for name, value in names.items()})


async def ask(console: Console, route: ApiRoute, project_id: str) -> httpx2.Response:
    return await console.request(route.method, address(route, project_id))


def refusal(answer: httpx2.Response) -> str | None:
    """The code of an answer that refuses access; None for one that comes from behind it."""
    refused = ("operator_required", "forbidden", "project_not_found", "confirmation_required")
    code = answer.json().get("code") if answer.content and "json" in answer.headers["content-type"] else None
    return code if code in refused else None


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_may_do_exactly_what_the_table_says(role: str, owner: Console, join: Join, api: Api) -> None:
    given = {"every": "owner"} if role == "owner" else {api.project.id: role}
    console = await join(f"{role}-too@example.com", **given)
    wrong = []
    for route in ASKED:
        if (route.method, route.path) == ("DELETE", "/admin/v1/me/totp"):
            continue
        found = refusal(await ask(console, route, api.project.id))
        if found != (None if allows(route, role) else "forbidden"):
            wrong.append(f"{route.method} {route.path}: {found}")
    assert wrong == []
    assert len(ASKED) > 70


async def test_a_stranger_to_the_project_finds_none(owner: Console, join: Join, make_api: Any) -> None:
    api, other = await make_api(), await make_api()
    stranger = await join("stranger@example.com", **{other.project.id: "admin"})
    for route in ASKED:
        if route.credential is Credential.OPERATOR_IN_PROJECT:
            answer = await ask(stranger, route, api.project.id)
            unknown = await ask(stranger, route, "unknown")
            assert (answer.status_code, answer.content) == (404, unknown.content), route.path
            assert route.method == "HEAD" or answer.json()["code"] == "project_not_found"


async def test_nobody_passes_without_a_credential(browse: Browse, api: Api) -> None:
    nobody = browse()
    for route in ASKED:
        assert refusal(await ask(nobody, route, api.project.id)) == "operator_required", route.path


@pytest.mark.parametrize(
    ("scope", "area", "level"),
    [
        ("data:read", "data", "read"),
        ("schema:write", "schema", "write"),
        ("*:read", "*", "read"),
        ("*:write", "*", "write"),
    ],
)
async def test_a_token_may_do_what_its_scope_says(scope: str, area: str, level: str, owner: Console, api: Api) -> None:
    token = await owner.token(f"{api.project.id}:{scope}")
    program = Console(owner.http, {"authorization": f"Bearer {token}"})
    wrong = []
    for route in ASKED:
        access = route.operator
        assert access is not None
        found = refusal(await ask(program, route, api.project.id))
        covered = access.area == "any" or (
            any(area in ("*", each) and each != "deployment" for each in access.areas)
            and (level == "write" or access.level == "read")
        )
        expected = None if covered and access.by_token and access.area != "session" else "forbidden"
        if expected is None and access.confirm and area == "*":
            expected = "confirmation_required"
        if found != expected:
            wrong.append(f"{route.method} {route.path}: {found} for {expected}")
    assert wrong == []


async def test_an_unconfirmed_session_is_asked_for_confirmation(
    owner: Console, api: Api, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    mongo[f"{database_prefix}system"]["operator_sessions"].update_many({}, {"$unset": {"confirmed_at": ""}})
    for route in ASKED:
        access = route.operator
        assert access is not None
        expected = "confirmation_required" if access.confirm else None
        assert refusal(await ask(owner, route, api.project.id)) == expected, route.path
