"""For each endpoint a request that is good, before anything odd is done to it."""

import random
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from faults.samples import PNG, SVG
from service.web.routes import ROUTES

Endpoint = tuple[str, str]
ENDPOINTS: list[Endpoint] = [(route.method, route.path) for route in ROUTES]
# More can go wrong where a body is read.
WEIGHTS = [1 if method in {"GET", "DELETE"} else 3 for method, _ in ENDPOINTS]

SCHEMA = {"name": {"type": "string"}, "number": {"type": "integer", "min": 0}, "tags": {"type": "any"}} | {
    "sku": {"type": "string", "unique": True}
}
DATA = {"name": "Ann", "number": 1, "tags": ["a", {"b": None}]}
RULES = {"users": {"read": "users", "fields": {"data.picture": {"read": "users", "protected": True}}}}
FILES = (("a.png", PNG), ("b.svg", SVG))
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


@dataclass(frozen=True)
class Scene:
    """What is really there to be asked for."""

    key: str
    token: str
    segments: dict[str, str]
    user_id: str = ""
    file_url: str = ""

    def path(self, pattern: str) -> str:
        """`id` is a document's, and a user's where a user is asked for."""
        of_user = {"id": self.user_id} if pattern.startswith("/auth-collections/users/") else {}
        return pattern.format(**self.segments | of_user)


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
    made = Draft(endpoint, method, scene.path(pattern))
    if pattern == "/auth-collections/user":
        made.headers.append(("authorization", f"Bearer {scene.token}".encode()))
    else:
        made.headers.append(("x-api-key", scene.key.encode()))
    if method == "GET" and pattern.endswith(("/users", "/documents")):
        made.query = chance.choice(QUERIES)
    if pattern.endswith("/distinct"):
        made.query = chance.choice(("field=name", "field=tags&number_gt=0", "field=created_at&where=%7B%7D"))
    if endpoint == ("PUT", "/api/collections/{name}/documents"):
        made.query = chance.choice(("by=sku", "by=sku&on_conflict=merge"))
    if endpoint == ("GET", "/api/aggregations/{name}"):
        made.query = "least=1"
    if pattern == "/files/{file_name}":
        made.query = scene.file_url.partition("?")[2]
    if pattern.endswith("/import"):
        made.headers.append(
            ("content-type", chance.choice((b"application/x-ndjson", b"application/x-ndjson; charset=utf-8")))
        )
    made.content = _content(endpoint, scene, chance)
    if pattern in {"/auth-collections/signup", "/auth-collections/user"} and method != "GET" and chance.random() < 0.5:
        made.parts = [("file", *chance.choice(FILES))]
    return made


def _content(endpoint: Endpoint, scene: Scene, chance: random.Random) -> Any:
    """A new object each time, for it will be changed; `...` is none."""
    email = f"u{chance.randrange(10**12)}@example.com"
    match endpoint:
        case "POST", "/auth-collections/signup":
            return {"email": email, "password": "correct horse", "name": "Ann", "friend_id": "0" * 24}
        case "POST", "/auth-collections/login":
            return {"email": "ann@example.com", "password": "correct horse"}
        case "PUT", "/auth-collections/user":
            return {"name": "Bo", "address": {"city": "Bonn"}}
        case ("QUERY", _) | ("POST", "/api/collections/{name}/query" | "/auth-collections/users/query"):
            return deepcopy(chance.choice(BODIES))
        case "POST", "/api/collections":
            return {"name": f"made{chance.randrange(10**6)}", "schema": deepcopy(SCHEMA)}
        case "PUT", "/api/collections/{name}/documents":
            return {"data": deepcopy(DATA) | {"sku": "a"}}
        case "POST", "/api/batch":
            return {"atomic": chance.random() < 0.5, "operations": _operations(scene)}
        case "PATCH", "/api/collections/{name}":
            return {"schema": deepcopy(SCHEMA) | {"note": {"type": "string", "max_length": 9}}}
        case "POST" | "PUT" | "PATCH", path:
            return _access_content(path, scene) or _aggregation(path, chance) or {"data": deepcopy(DATA)}
    return ...


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
    """What is sent to say who may do what, and to let somebody do it; None for a document."""
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
