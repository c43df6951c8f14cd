"""For each endpoint a request that is good, before anything odd is done to it."""

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from faults.samples import PNG, SVG
from service.web.routes import ROUTES

Endpoint = tuple[str, str]
ENDPOINTS: list[Endpoint] = [(route.method, route.path) for route in ROUTES]
# More can go wrong where a body is read.
WEIGHTS = [1 if method in {"GET", "DELETE"} else 3 for method, _ in ENDPOINTS]

PROFILE = "/auth-collections/user"
SESSIONS, STEP_UP = f"{PROFILE}/sessions", f"{PROFILE}/step-up"
OWN_PASSWORD = f"{PROFILE}/password"
UPSERT: Endpoint = ("PUT", "/api/collections/{name}/documents")
BULK: dict[str, dict[str, Any]] = {
    "/api/collections/{name}/update": {"increment": {"number": 1}},
    "/api/collections/{name}/delete": {},
}
SCHEMA = {"name": {"type": "string"}, "number": {"type": "integer", "min": 0}, "tags": {"type": "any"}}
SCHEMA["file"] = {"type": "file", "protected": True, "types": ["png"], "variants": {"thumb": {"width": 9}}}
SCHEMA["sku"] = {"type": "string", "unique": True}
DATA = {"name": "Ann", "number": 1, "tags": ["a", {"b": None}]}
RULES = {"users": {"read": "users", "fields": {"data.picture": {"read": "users", "protected": True}}}}
FORMS: set[Endpoint] = {
    ("POST", "/auth-collections/signup"),
    ("PUT", "/auth-collections/user"),
    ("POST", "/api/collections/{name}/documents"),
    *((method, "/api/collections/{name}/documents/{id}") for method in ("PUT", "PATCH")),
    UPSERT,
}
PICTURE = ("a.png", PNG)
FILES = (PICTURE, ("b.svg", SVG))
DISTINCT = ("field=name", "field=tags&number_gt=0", "field=created_at&where=%7B%7D")
QUERIES = (
    *("", "limit=5&offset=1", "sort_by=created_at&sort_order=desc", "populate=*", "count=false"),
    *(
        "where=%7B%22or%22%3A%5B%7B%22name_eq%22%3A%22Ann%22%7D%5D%7D",
        "name_eq=Ann",
        "number_gt=0&name_icontains=a",
        "id_in=a,b",
        "created_at_lt=2030-01-01",
        "tags_isnull=false",
    ),
)
# The same in a body, with conditions joined.
BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"where": {"or": [{"name_eq": "Ann"}, {"not": {"number_gt": 0}}]}, "limit": 5, "offset": 1},
    {"where": {"and": [{"name_startswith": "A"}, {"tags_hasall": ["a"]}], "id_in": ["a"]}, "populate": ["*"]},
    {"fields": ["name"], "sort_by": ["-created_at", "name"], "count": "capped", "cursor": "*", "limit": 1},
)
AGGREGATIONS: tuple[dict[str, Any], ...] = (
    {"values": {"n": "count", "m": {"max": "number"}, "a": {"avg": "number"}}},
    {"group": {"k": "name"}, "values": {"d": {"count_distinct": "tags"}}, "having": {"d_gte": 0}, "sort_by": ["-d"]},
    {
        "where": {"or": [{"name_eq": "Ann"}, {"not": {"number_gt": 0}}]},
        "group": {"t": {"field": "tags", "each": True}, "n": {"field": "number", "step": 10}},
        "limit": 5,
    },
    {
        "group": {"d": {"field": "created_at", "every": "month", "timezone": "Europe/Paris"}},
        "values": {
            "n": "count",
            "s": {"sum": "number"},
            "x": {"count_distinct": "id"},
            "y": {"count_distinct": "name"},
        },
    },
)
SAVED: dict[str, Any] = {
    "collection": "things",
    "aggregate": {"where": {"number_gte": "$least"}, "group": {"k": "name"}, "values": {"n": "count"}},
    "parameters": {"least": {"type": "number"}},
    "run": {"$user.roles_eq": "editor"},
}


# They end the tokens of the user whom the path names.
ENDING = {"/auth-collections/users/{id}/password", "/auth-collections/users/{id}/sessions"}


@dataclass(frozen=True)
class Visitor:
    """A user whose sessions may end: one to ask with, one to step up from, one to end and one to refresh."""

    token: str = ""
    stepping: str = ""
    other_sid: str = ""
    refresh_token: str = ""
    # Two more users: one whose password changes, and one that is deleted.
    changing: str = ""
    leaving: str = ""


@dataclass(frozen=True)
class Scene:
    """The real records that requests may name."""

    key: str
    token: str
    segments: dict[str, str]
    user_id: str = ""
    file_url: str = ""
    other_id: str = ""
    visitor: Visitor = Visitor()

    def path(self, endpoint: Endpoint) -> str:
        """`id` is a document's, and a user's where a user is asked for: not of who has the token, where that would end."""
        method, pattern = endpoint
        if pattern.startswith("/auth-collections/users/"):
            ends = method in {"PATCH", "DELETE"} or pattern in ENDING
            return pattern.format(**self.segments | {"id": self.other_id if ends else self.user_id})
        if pattern.startswith(SESSIONS):
            return pattern.format(id=self.visitor.other_sid)
        return pattern.format(**self.segments)


@dataclass
class Draft:
    """A request whose parts can still be changed. A form has `parts`: name, file name, content; otherwise `content` is JSON."""

    endpoint: Endpoint
    method: str
    path: str
    query: str = ""
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    content: Any = ...
    parts: list[tuple[str, str | None, bytes]] | None = None


def draft(endpoint: Endpoint, scene: Scene, chance: random.Random) -> Draft:
    method, pattern = endpoint
    made = Draft(endpoint, method, scene.path(endpoint), _query(endpoint, scene, chance))
    if pattern.startswith(PROFILE) and not pattern.startswith("/auth-collections/users"):
        made.headers.append(("authorization", f"Bearer {_token(endpoint, scene)}".encode()))
    else:
        made.headers.append(("x-api-key", scene.key.encode()))
    if pattern.endswith("/import"):
        made.headers.append(("content-type", b"application/x-ndjson"))
    made.content = _content(endpoint, scene, chance)
    if endpoint in FORMS and chance.random() < 0.5:
        made.parts = [("file", *(chance.choice(FILES) if pattern.startswith("/auth") else PICTURE))]
        # A form has the data of a document as it is.
        made.content = made.content.get("data", made.content)
    return made


def _token(endpoint: Endpoint, scene: Scene) -> str:
    pattern, visitor = endpoint[1], scene.visitor
    if endpoint == ("DELETE", PROFILE):
        return visitor.leaving
    if pattern in {STEP_UP, OWN_PASSWORD}:
        return visitor.stepping if pattern == STEP_UP else visitor.changing
    return scene.visitor.token if pattern.startswith(SESSIONS) else scene.token


QUERIES_OF: Mapping[Endpoint, Sequence[str]] = {
    ("GET", "/auth-collections/users"): QUERIES,
    ("GET", "/api/collections/{name}/documents"): QUERIES,
    ("GET", "/auth-collections/link"): ("done=1",),
    ("POST", "/auth-collections/link"): ("t=made-up",),
    ("GET", "/auth-collections/mails"): ("", "limit=5&offset=1"),
    ("GET", "/auth-collections/users/distinct"): DISTINCT,
    ("GET", "/api/collections/{name}/distinct"): DISTINCT,
    ("PUT", "/api/collections/{name}/documents"): ("by=sku", "by=sku&on_conflict=merge"),
    ("GET", "/api/aggregations/{name}"): ("least=1",),
    ("GET", "/auth-collections/captcha"): ("flow=signup",),
    ("GET", "/api/types"): ("language=typescript", "language=python&view=users"),
    ("GET", "/api/openapi.json"): ("", "view=anyone", "collections=things"),
}


def _query(endpoint: Endpoint, scene: Scene, chance: random.Random) -> str:
    if endpoint[1] == "/files/{file_name}":
        return str(scene.file_url).partition("?")[2]
    return chance.choice(QUERIES_OF.get(endpoint, ("",)))


# Endpoints that need no body.
UNSAID = ("/retry", "/recovery-codes", "factors/passkey/options", "step-up/options", "login-passkey/options")


def _content(endpoint: Endpoint, scene: Scene, chance: random.Random) -> Any:
    """A new object each time, for it will be changed; `...` is none."""
    method, pattern = endpoint
    if method == "QUERY" or pattern.endswith("/query"):
        return deepcopy(chance.choice(BODIES))
    if method not in {"POST", "PUT", "PATCH"} or pattern.endswith(UNSAID):
        return ...
    made = (
        _account(pattern, method, chance)
        or _session(pattern, scene)
        or _declaration(pattern, method, chance)
        or _access_content(pattern, scene)
        or _aggregation(pattern, chance)
    )
    if pattern in BULK:
        return {"where": {"number_gte": 10**6}, "expect": 0} | deepcopy(BULK[pattern])
    if pattern == "/api/batch":
        return {"atomic": chance.random() < 0.5, "operations": _operations(scene)}
    return made or {"data": deepcopy(DATA) | ({"sku": "a"} if (method, pattern) == UPSERT else {})}


def _account(pattern: str, method: str, chance: random.Random) -> Any:
    match method, pattern:
        case "POST", "/auth-collections/signup":
            email = f"u{chance.randrange(10**12)}@example.com"
            return {"email": email, "password": "correct horse", "name": "Ann", "friend_id": "0" * 24}
        case "POST", "/auth-collections/login":
            return {"email": "ann@example.com", "password": "correct horse"}
        case "POST", "/auth-collections/users":
            email = f"v{chance.randrange(10**12)}@example.com"
            return {"email": email, "data": {"name": "Cy"}, "claims": {"plan": "pro"}, "email_verified": True}
        case "PATCH", "/auth-collections/users/{id}":
            return {"data": {"name": "Di"}, "claims": {"plan": ["free"]}, "disabled": chance.random() < 0.5}
        case "POST", "/auth-collections/users/{id}/links":
            return {"purpose": chance.choice(("invite", "reset_password", "sign_in", "verify_email"))}
        case "PUT", "/auth-collections/users/{id}/password":
            return {"password": "correct horse battery"}
        case "PUT", "/auth-collections/user":
            return {"name": "Bo", "address": {"city": "Bonn"}}
    return _by_mail(pattern, chance)


def _by_mail(path: str, chance: random.Random) -> Any:
    match path:
        case "/auth-collections/verify-email" | "/auth-collections/forgot-password" | "/auth-collections/user/email":
            return {"email": "ann@example.com", "locale": "de"}
        case "/auth-collections/signup-anonymous":
            return {"name": "Ann", "friend_id": "0" * 24}
        case "/auth-collections/user/upgrade":
            return {"email": "up@example.com", "password": "correct horse"}
        case "/auth-collections/login-email":
            return {"email": "ann@example.com", "code_challenge": "A" * 43, "create": True}
        case "/auth-collections/confirm":
            return chance.choice(({"flow_id": "made-up", "code": "123456"}, {"token": "made-up"}))
        case "/auth-collections/token":
            return {"code": "made-up", "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}
        case "/auth-collections/reset-password":
            return {"flow_id": "made-up", "code": "123456", "password": "correct horse"}
    return _by_provider(path)


def _by_provider(path: str) -> Any:
    match path:
        case "/auth-collections/login-id-token/options":
            return {"provider": "staff"}
        case "/auth-collections/login-id-token":
            return {"flow_id": "made-up", "id_token": "a.b.c", "name": "Ann"}
        case "/auth-collections/user/identities":
            return {"provider": "default", "code_challenge": "A" * 43, "client_state": "/me"}
        case "/auth-collections/user/identities/confirm":
            return {"code": "made-up", "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}
        case "/auth-collections/auth-idp-redirect/{project_id}/{provider}":
            return {"state": "made-up", "code": "made-up"}
    return None


def _session(pattern: str, scene: Scene) -> Any:
    match pattern:
        case "/auth-collections/refresh" | "/auth-collections/logout":
            return {"refresh_token": scene.visitor.refresh_token}
        case "/auth-collections/introspect":
            return {"token": scene.token}
        case "/auth-collections/user/step-up":
            return {"password": "correct horse"}
        case "/auth-collections/user/password":
            return {"current_password": "correct horse", "password": "correct horse"}
    return _by_passkey(pattern) if "passkey" in pattern or "options" in pattern else _by_factor(pattern)


def _by_factor(pattern: str) -> Any:
    match pattern:
        case "/auth-collections/login-factor":
            return {"flow_id": "made-up", "totp": "123456"}
        case "/auth-collections/user/factors/totp" | "/auth-collections/user/factors/{id}":
            return {"name": "phone"}
        case "/auth-collections/user/factors/totp/{id}/confirm":
            return {"code": "123456"}
    return None


def _by_passkey(pattern: str) -> Any:
    match pattern:
        case "/auth-collections/user/factors/passkey":
            answer = {"clientDataJSON": "e30", "attestationObject": "oA"}
            return {"flow_id": "made-up", "credential": {"id": "aWQ", "response": answer}, "name": "laptop"}
        case "/auth-collections/login-passkey":
            signed = {"clientDataJSON": "e30", "authenticatorData": "oA", "signature": "MEU", "userHandle": "aA"}
            return {"flow_id": "made-up", "credential": {"id": "aWQ", "response": signed}}
        case "/auth-collections/login-factor/options":
            return {"flow_id": "made-up"}
    return None


def _declaration(pattern: str, method: str, chance: random.Random) -> Any:
    match method, pattern:
        case "POST", "/api/collections":
            return {"name": f"made{chance.randrange(10**6)}", "schema": deepcopy(SCHEMA)}
        case "PATCH", "/api/collections/{name}":
            return {"schema": deepcopy(SCHEMA) | {"note": {"type": "string", "max_length": 9}}}
        case "PUT", "/auth-collections/schema":
            return {"schema": {"born": {"type": "datetime"}}, "additional": True}
    return None


def _operations(scene: Scene) -> list[dict[str, Any]]:
    things, known = {"collection": "things"}, scene.segments["id"]
    return [
        {"op": "create", **things, "as": "made", "data": deepcopy(DATA)},
        {"op": "update", **things, "id": known, "increment": {"number": 1}, "where": {"number_gte": 0}},
        {"op": "upsert", **things, "by": "sku", "data": {"sku": "b"}},
        {"op": "get", **things, "id": known},
    ]


def _aggregation(path: str, chance: random.Random) -> Any:
    match path:
        case "/api/collections/{name}/aggregate":
            return deepcopy(chance.choice(AGGREGATIONS))
        case "/auth-collections/users/aggregate":
            return {"group": {"k": "picture"}, "values": {"n": "count", "m": {"max": "data.picture"}}}
        case "/api/aggregations/{name}":
            return deepcopy(SAVED)
    return None


def _access_content(path: str, scene: Scene) -> Any:
    """The body of a request about rules, explanations or signed files; None for a document."""
    match path:
        case "/api/rules":
            return deepcopy(RULES)
        case "/api/rules/explain":
            return {"as": {"user_id": scene.user_id}, "action": "read", "collection": "users"}
        case "/api/files/sign":
            return {"urls": [scene.file_url], "expires_in": 60}
        case "/auth-collections/users/{id}/roles":
            return {"roles": ["editor"]}
    return None
