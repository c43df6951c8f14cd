"""Requests that nobody would think of, to every route: never a 5xx, always our JSON, and the service goes on.

The short form runs with every test; `scripts/fuzz` runs as many as it is told. Both are seeded and end by themselves.
"""

import json
import os
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from service.web.routes import ROUTES
from tests.conftest import Api, MakeApi
from tests.threats.conftest import INTERNALS

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))
ENDPOINTS = sorted(
    (method, str(getattr(route, "path", "")))
    for route in ROUTES
    for method in (getattr(route, "methods", None) or {"GET"}) - {"HEAD"}
)

ODD_WORDS = [
    *("0", "-1", "1e999", "NaN", "null", "true", "$gt", "$where", "a.b"),
    *("__proto__", "../../etc/passwd", "%00", "'", "{}", "[]", "2026-01-01T00:00:00Z", "*"),
]
ODD_TEXT = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", *ODD_WORDS, "\x00", "\ud800", "\u202e", "9" * 30, "x" * 5000]),
)
NAMES = st.one_of(
    ODD_TEXT,
    st.sampled_from(
        [
            "email",
            "password",
            "id",
            "name",
            "data",
            "schema",
            "type",
            "fields",
            "created_at",
            "oauth_id",
            "referred_by_id",
        ]
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=5)
PLAUSIBLE = st.fixed_dictionaries(
    {},
    optional={
        "email": st.one_of(JSON, st.emails()),
        "password": st.one_of(JSON, st.text(string.printable, min_size=8, max_size=80)),
        "name": st.one_of(JSON, st.sampled_from(["things", "users"])),
        "schema": st.dictionaries(
            NAMES, st.one_of(JSON, st.fixed_dictionaries({"type": NAMES}, optional={"default": JSON}))
        ),
        "data": OBJECTS,
    },
)
QUERIES = st.lists(
    st.tuples(
        st.one_of(
            NAMES,
            st.sampled_from(["limit", "offset", "count", "sort_by", "sort_order", "populate", "state", "code"]),
            st.builds(
                "{}_{}".format,
                NAMES,
                st.sampled_from(["eq", "ne", "gt", "lte", "contains", "icontains", "in", "isnull"]),
            ),
        ),
        ODD_TEXT,
    ),
    max_size=4,
)


COLLECTION = "things"


@dataclass(frozen=True)
class Case:
    """One request: which endpoint, as whom, and what is sent."""

    endpoint: tuple[str, str]
    credential: str
    segment: str
    query: list[tuple[str, str]]
    body: bytes
    content_type: str


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _multipart(data: bytes, name: str, content: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n' + data
    filename = name.encode("utf-8", "surrogatepass")
    part = b'\r\n--b\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n' % (filename, filename)
    return head + part + content + b"\r\n--b--\r\n"


BODIES = st.one_of(
    st.tuples(st.one_of(PLAUSIBLE, OBJECTS, JSON).map(_encoded), st.just("application/json")),
    st.tuples(st.binary(max_size=200), st.sampled_from(["application/json", "text/plain", "", "multipart/form-data"])),
    st.tuples(
        st.builds(
            _multipart, st.one_of(PLAUSIBLE.map(_encoded), st.binary(max_size=50)), NAMES, st.binary(max_size=100)
        ),
        st.sampled_from(["multipart/form-data; boundary=b", "multipart/form-data; boundary=", "multipart/form-data"]),
    ),
)
CASES = st.builds(
    lambda endpoint, credential, segment, query, body: Case(endpoint, credential, segment, query, *body),
    endpoint=st.sampled_from(ENDPOINTS),
    credential=st.sampled_from(["key", "key", "token", "token", "none", "odd", "both"]),
    segment=st.one_of(st.sampled_from(["", "things", "users"]), ODD_TEXT),
    query=st.one_of(st.just([]), QUERIES),
    body=BODIES,
)


@dataclass
class Target:
    """A project to aim at, and what came back."""

    api: Api
    token: str
    statuses: Counter[int] = field(default_factory=Counter)

    async def send(self, case: Case) -> httpx.Response:
        method, pattern = case.endpoint
        request = self.api.http.build_request(
            method,
            _path(pattern, case.segment or self.api.project.id),
            params=[(_sendable(name), _sendable(value)) for name, value in case.query],
            headers={"content-type": case.content_type, **self._credential(case.credential)},
            content=case.body,
        )
        return await self.api.http.send(request)

    def _credential(self, kind: str) -> dict[str, str]:
        key, bearer = {"x-api-key": self.api.key}, {"authorization": f"Bearer {self.token}"}
        odd = {"x-api-key": "ac_x_" + "0" * 32, "authorization": "Bearer a.b.c"}
        return {"key": key, "token": bearer, "none": {}, "odd": odd, "both": key | bearer}[kind]


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _path(pattern: str, segment: str) -> str:
    """`pattern` with every parameter replaced; a segment holds no slash, question mark or hash of its own."""
    filled = _sendable(segment)
    for sign in '%/?#\\"<>`{} \x7f' + "".join(map(chr, range(32))):
        filled = filled.replace(sign, f"%{ord(sign):02X}")
    if pattern.count("{") > 1:
        pattern = pattern.replace("{name}", COLLECTION)
    parts = [filled if part.startswith("{") else part for part in pattern.split("/")]
    return "/".join(parts)


@pytest.fixture
async def target(make_api: MakeApi) -> Target:
    api = await make_api()
    schema = {"name": {"type": "string"}, "data": {"type": "any"}, "password": {"type": "integer", "unique": True}}
    created = await api.request("POST", "/api/collections", json={"name": COLLECTION, "schema": schema})
    assert created.status_code == 201
    return Target(api, (await api.signup()).json()["access_token"])


@pytest.fixture
def report(target: Target) -> Iterator[None]:
    """Prints the figures when asked for many: `-s` shows them."""
    yield
    print(f"fuzz: {target.statuses.total()} requests, {dict(sorted(target.statuses.items()))}")  # noqa: T201


@settings(
    max_examples=EXAMPLES,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(case=CASES)
async def test_no_request_makes_the_service_fail(target: Target, report: None, case: Case) -> None:
    response = await target.send(case)
    target.statuses[response.status_code] += 1
    assert response.status_code < 500, case
    assert "x-request-id" in response.headers
    if response.status_code >= 400 and case.endpoint[0] not in {"HEAD", "OPTIONS"}:
        assert response.json().keys() <= {"detail", "code"}
        assert not INTERNALS.search(
            json.dumps([error.get("type") for error in _details(response)]) + str(response.headers)
        )


def _details(response: httpx.Response) -> list[dict[str, Any]]:
    """The entries of a 422; its messages may quote what was sent, which may be anything."""
    detail = response.json()["detail"]
    return detail if isinstance(detail, list) else []
