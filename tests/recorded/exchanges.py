"""Requests to every endpoint of the specification, and their answers without what differs each time.

Nothing here is of one version of the service, so that the answers of an earlier one can be recorded.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

SIGNUP, LOGIN = "/auth-collections/signup", "/auth-collections/login"
USER, USERS = "/auth-collections/user", "/auth-collections/users"
LOGIN_IDP, CALLBACK = "/auth-collections/login-idp", "/auth-collections/auth-idp-redirect"
COLLECTIONS = "/api/collections"
DOCUMENTS = f"{COLLECTIONS}/articles/documents"
PROVIDER = {
    "IDP_CLIENT_ID": "client-1",
    "IDP_CLIENT_SECRET": "secret-1",
    "IDP_REDIRECT_URL": "https://app.example.com/callback",
    "IDP_COMPLETE_URL": "https://app.example.com/done",
    "IDP_AUTHORIZE_URL": "https://idp.example.com/authorize",
    "IDP_TOKEN_URL": "https://idp.example.com/token",
    "IDP_USERINFO_URL": "https://idp.example.com/userinfo",
}
BOUNDARY = "sample-boundary"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="2" height="1"/>'
PASSWORD = "correct horse"
# Parts that differ at each run, and their replacements.
CHANGING = (
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<time>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<file>"),
    (re.compile(r"(?<=t=)\d+"), "<seconds>"),
    # The policies show which requests spend the day; the rest follows from all before.
    (re.compile(r'(?<="daily";r=)\d+'), "<left>"),
    (re.compile(r"(?<=state=|nonce=)[\w-]+|(?<=code_challenge=)[\w-]+"), "<random>"),
)
ID = re.compile(r"\b[0-9a-f]{24}\b")
QUERIES = (
    *("", "limit=2&offset=1", "count=false", "sort_by=created_at&sort_order=desc", "sort_by=age&sort_order=asc"),
    *("populate=referred_by", "populate=*", "name_eq=Ann", "name_ne=Ann", "age_gt=30", "age_gte=33&age_lte=40"),
    *("age_lt=33", "name_contains=nn", "name_icontains=AN", "name_in=Ann,Bob", "nickname_isnull=true"),
    *("referred_by_id_isnull=false", "referred_by.email_eq=ann@example.com", "email_eq=bob@example.com"),
    *("id_in={ann},{bob}&sort_by=email", "referred_by_id_eq={ann}", "created_at_gt=2020-01-01", "email_contains=@"),
    # Refused queries.
    *("limit=0", "limit=x", "offset=-1", "sort_order=up", "count=perhaps", "name_like=x", "password_eq=x", "a=1"),
    *("populate=nobody", "age_gt=old", "created_at_gt=soon", "nickname_isnull=perhaps"),
)
SCHEMA = {"title": {"type": "string", "required": True}, "published": {"type": "boolean", "default": False}}


class Player:
    """Asks, and keeps the answers in the order of asking. `ask` returns what a JSON answer says."""

    def __init__(self, http: Any, key: str, project_id: str) -> None:
        self._http, self._key, self._project_id = http, key, project_id
        self._ids: dict[str, str] = {}
        self.answers: dict[str, dict[str, Any]] = {}

    async def ask(self, method: str, path: str, **sent: Any) -> Any:
        """`sent`: `as_`, a token, "key" (without it) or "nobody"; `body`, JSON or bytes; `kind`, a content type; `headers`."""
        who = sent.get("as_", "key")
        headers = {"x-api-key": self._key} if who == "key" else {}
        headers |= {"authorization": f"Bearer {who}"} if who not in {"key", "nobody"} else {}
        body = sent.get("body", b"")
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers |= {"content-type": sent.get("kind", "application/json")} if raw else {}
        answer = await self._http.request(method, path, headers=headers | sent.get("headers", {}), content=raw)
        self._keep(f"{method} {self._plain(path)}", who, answer)
        return answer.json() if "json" in answer.headers.get("content-type", "") else None

    def _keep(self, name: str, who: str, answer: Any) -> None:
        number = sum(each.partition(" #")[0] == name for each in self.answers)
        own = {"x-request-id", "content-length", "date", "server", "retry-after"}
        # The length is that of the body, in which ids and times are of the same length each time.
        headers = {key: self._plain(value) for key, value in sorted(answer.headers.items()) if key not in own}
        headers |= {"retry-after": "<seconds>"} if "retry-after" in answer.headers else {}
        self.answers[f"{name} #{number}"] = {
            "as": who if who in {"key", "nobody"} else "user",
            "status": answer.status_code,
            "headers": headers,
            "body": self._plain(answer.content.decode()),
        }

    def _plain(self, text: str) -> str:
        for pattern, stand_in in CHANGING:
            text = pattern.sub(stand_in, text)
        text = ID.sub(lambda found: self._ids.setdefault(found[0], f"<id {len(self._ids) + 1}>"), text)
        return text.replace(self._project_id, "<project>")


def form(*parts: tuple[str, bytes]) -> bytes:
    """Parts by their names, of which `data` is no file."""
    made = b""
    for name, content in parts:
        file_name = "" if name == "data" else f'; filename="{name}.svg"'
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file_name}\r\n\r\n'
        made += head.encode() + content + b"\r\n"
    return made + f"--{BOUNDARY}--\r\n".encode()


async def play(http: Any, key: str, project_id: str) -> dict[str, dict[str, Any]]:
    """Every endpoint of the specification in a new project with the settings PROVIDER, and nothing else set."""
    player = Player(http, key, project_id)
    ids, token = await _sign_up(player)
    await _log_in(player)
    await _use_profile(player, token)
    for query in QUERIES:
        await player.ask("GET", f"{USERS}?{query.format(**ids)}" if query else USERS)
    for who in ("nobody", token):
        await player.ask("GET", USERS, as_=who)
    await _use_collections(player)
    await _use_provider(player, project_id)
    await _reach_limits(player)
    return player.answers


async def _sign_up(player: Player) -> tuple[Mapping[str, str], str]:
    ann = await player.ask(
        "POST", SIGNUP, body={"email": " Ann@Example.com", "password": PASSWORD, "name": "Ann", "age": 33}
    )
    referred = {"name": "Bob", "age": 41, "referred_by_id": ann["user"]["id"], "following": [ann["user"]["id"]]}
    bob = await player.ask("POST", SIGNUP, body={"email": "bob@example.com", "password": PASSWORD, **referred})
    data = json.dumps(
        {"email": "cleo@example.com", "password": PASSWORD, "name": "Cleo Nné", "nickname": None}
    ).encode()
    await player.ask("POST", SIGNUP, body=form(("data", data), ("profile_picture", SVG)), kind=FORM)
    for body in (
        {"email": "ann@example.com", "password": PASSWORD},
        {"email": "ann", "password": "short"},
        {"password": PASSWORD},
        {"email": "dan@example.com", "password": PASSWORD, "id": "x", "a.b": 1},
        b"{",
    ):
        await player.ask("POST", SIGNUP, body=body)
    await player.ask("POST", SIGNUP, body={}, as_="nobody")
    return {"ann": ann["user"]["id"], "bob": bob["user"]["id"]}, ann["access_token"]


async def _log_in(player: Player) -> None:
    for email, password in (
        ("ann@example.com", PASSWORD),
        ("ANN@example.com ", PASSWORD),
        ("ann@example.com", "wrong horse"),
        ("nobody@example.com", PASSWORD),
        ("malformed", PASSWORD),
    ):
        await player.ask("POST", LOGIN, body={"email": email, "password": password})
    await player.ask("POST", LOGIN, body={"email": "ann@example.com", "password": PASSWORD, "extra": 1})
    await player.ask(
        "POST", LOGIN, body={"email": "ann@example.com", "password": PASSWORD}, headers={"x-api-key": "ac_no"}
    )


async def _use_profile(player: Player, token: str) -> None:
    await player.ask("GET", USER, as_=token)
    for who in ("nobody", "key", f"{token}x"):
        await player.ask("GET", USER, as_=who)
    for body in (
        {"name": "Ann B.", "age": 34},
        {"email": "other@example.com"},
        {"id": "x"},
        {"password": "other horse"},
        {},
    ):
        await player.ask("PUT", USER, as_=token, body=body)
    pictures = form(("data", b'{"city": "Bonn"}'), ("profile_picture", SVG), ("cover_photo", SVG))
    await player.ask("PUT", USER, as_=token, body=pictures, kind=FORM)
    await player.ask("PUT", USER, as_=token, body=form(("resume", b"no known type")), kind=FORM)
    await player.ask("PUT", USER, as_="nobody", body={"name": "x"})
    await player.ask("PATCH", USER, as_=token, body={})
    await player.ask("OPTIONS", USER, as_="nobody")


async def _use_collections(player: Player) -> None:
    await player.ask("GET", COLLECTIONS)
    for body in (
        {"name": "articles", "schema": SCHEMA},
        {"name": "articles", "schema": SCHEMA},
        {"name": "Bad name", "schema": {"x": {"type": "nothing"}}},
        {"name": "empty"},
    ):
        await player.ask("POST", COLLECTIONS, body=body)
    for document in (
        {"title": "One"},
        {"title": "Two", "published": True},
        {},
        {"title": 1},
        {"title": "x", "more": 1},
    ):
        await player.ask("POST", DOCUMENTS, body={"data": document})
    await player.ask("POST", DOCUMENTS, body={"title": "Three"})
    await player.ask("POST", f"{COLLECTIONS}/nothing/documents", body={"data": {}})
    await player.ask("GET", COLLECTIONS)
    await player.ask("GET", COLLECTIONS, as_="nobody")


async def _use_provider(player: Player, project_id: str) -> None:
    await player.ask("GET", LOGIN_IDP)
    await player.ask("GET", f"{LOGIN_IDP}?project_id={project_id}", as_="nobody")
    for path in (CALLBACK, "/auth-idp-redirect"):
        await player.ask("GET", f"{path}/{project_id}?code=made-up", as_="nobody")
        await player.ask("GET", f"{path}/{project_id}?code=made-up&state=made-up", as_="nobody")
        await player.ask("GET", f"{path}/nothing?code=made-up", as_="nobody")


async def _reach_limits(player: Player) -> None:
    """Nine signups and seven logins were asked for by now; those that lack a key count nowhere."""
    for number in range(4):
        await player.ask("POST", SIGNUP, body={"email": f"{number}@example.com", "password": PASSWORD})
    for _ in range(16):
        await player.ask("POST", LOGIN, body={"email": "nobody@example.com", "password": PASSWORD})
