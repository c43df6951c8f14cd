"""Real requests to the application of the checkout in the working directory, traced: the files of `service/` they enter.

A process of its own, started by file name, so that it can run against a checkout that has no such module; it imports
nothing of this package. It reads its task from the environment and prints one line of JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from opcode import opmap
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

ROOT = f"{Path.cwd()}{os.sep}service{os.sep}"
DRIVER = f"{os.sep}pymongo{os.sep}"
IN_PLACE = f"{os.sep}storage{os.sep}driver.py"
RESUME = opmap["RESUME"]
BOUNDARY = "walk"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
FORM_TYPE = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
DOCUMENTS = "/api/collections/"
PLAIN = {"title": {"type": "string"}}
FILMS = PLAIN | {"by_id": {"type": "reference", "collection": "users"}}
RULED = {"title": {"type": "string"}, "author_id": {"type": "reference", "collection": "users"}}
OWN = {"author_id_eq": "$user.id"}
RULES = {
    "collections": {
        "notes": {
            "read": OWN,
            "create": "users",
            "update": OWN,
            "delete": OWN,
            "fields": {"author_id": {"set": "$user.id", "write": "create"}},
        }
    }
}
# There are refresh tokens where user tokens are short-lived.
SHORT_LIVED = {"ACCESS_TOKEN_LIFETIME": "3600"}
NOTES = f"{DOCUMENTS}notes/documents"
RESET = {"purpose": "reset_password"}
NEW_PASSWORD = "another horse"  # noqa: S105 - of a project that ends with the walk
# A way is traced the third time it is gone.
TIMES = 3
TRACED: ContextVar[list[str] | None] = ContextVar("traced", default=None)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Site:
    """The application with one project of it; `walks` maps a request's name to the files entered, in order."""

    app: Any
    key: str
    project: str
    walks: dict[str, list[str]] = field(default_factory=dict)

    async def ask(self, method: str, target: str, *, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """A request with the project's API key, unless `headers` name a user. A list is a body in pieces, else it is JSON."""
        given = {"host": "service.test", **(headers or {})}
        if "authorization" not in given:
            given["x-api-key"] = self.key
        pieces = body if isinstance(body, list) else [] if body is None else [json.dumps(body).encode()]
        if pieces:
            given = {"content-type": "application/json", "content-length": str(sum(map(len, pieces))), **given}
        return await call(self.app, method, target, headers=given, pieces=pieces)


async def call(app: Any, method: str, target: str, *, headers: dict[str, str], pieces: list[bytes]) -> Answer:
    """One request through ASGI, each piece of its body in a message of its own."""
    parts = urlsplit(target)
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces or [b""]]
    messages[-1]["more_body"] = False
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0) if messages else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "root_path": "",
        "query_string": parts.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    await app(scope, receive, send)
    start = sent[0]
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))


def note(frame: FrameType, event: str, _: object) -> None:
    """Notes the file of each function of the service that is called while a request is traced.

    A function that the driver calls in place of its own, in the middle of a command, counts as a part of the driver.
    """
    if (
        event == "call"
        and starts(frame)
        and (files := TRACED.get()) is not None
        and frame.f_code.co_filename.startswith(ROOT)
        and not is_part_of_driver(frame)
    ):
        files.append(frame.f_code.co_filename.removeprefix(ROOT))


def is_part_of_driver(frame: FrameType) -> bool:
    """True if the driver called this frame, or if a function in place of the driver's own did."""
    caller = frame.f_back
    while caller and caller.f_code.co_filename.endswith(IN_PLACE):
        caller = caller.f_back
    return caller is not None and DRIVER in caller.f_code.co_filename


def starts(frame: FrameType) -> bool:
    """True at the start of a function (dis, RESUME: 0 is the start of a function).

    A coroutine that goes on is no start, nor is a generator that is closed, which resumes at its last yield.
    """
    return frame.f_code.co_code[frame.f_lasti] == RESUME and frame.f_code.co_code[frame.f_lasti + 1] == 0


async def trace(request: Callable[[], Awaitable[Answer]]) -> tuple[Answer, list[str]]:
    """The answer to a request, and the files that it entered in order, each as often as the way changed to it."""
    files: list[str] = []
    TRACED.set(files)
    sys.setprofile(note)
    try:
        answer = await request()
    finally:
        sys.setprofile(None)
        TRACED.set(None)
    return answer, [name for position, name in enumerate(files) if position == 0 or files[position - 1] != name]


class Socket:
    """The client's end of a WebSocket, in the place of the server's: it answers each message with the next of `messages`."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.written = 0
        self.frames: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._messages = messages

    def accept(self) -> None:
        """The handshake is of the server."""

    def refuse(self, status: int, body: bytes) -> None:
        raise SystemExit(f"{status}: {body.decode()}")

    def waiting(self) -> int:
        return 0

    async def room(self) -> None:
        """There always is."""

    def write(self, frame: bytes, _cursor: str | None = None) -> None:
        self.frames.put_nowait(json.loads(frame))

    def close(self, code: int, reason: str = "") -> None:
        self.frames.put_nowait({"type": "end", "code": code, "reason": reason})

    async def receive(self) -> dict[str, Any]:
        """The handshake, the hello, and each further message after the answer to the one before it."""
        if not self.written:
            self.written = 1
            return {"type": "websocket.connect"}
        if self.written > 1:
            answer = await self.frames.get()
            if answer["type"] not in {"ready", "snapshot"}:
                raise SystemExit(f"socket: {answer}")
        self.written += 1
        if not self._messages:
            return {"type": "websocket.disconnect", "code": 1000}
        return {"type": "websocket.receive", "text": json.dumps(self._messages.pop(0))}


async def subscribe(app: Any, token: str) -> Answer:
    """A socket from its handshake to the snapshot of one subscription."""
    subscribe = {"type": "subscribe", "id": "s", "collection": "notes", "limit": 20}
    socket = Socket([{"type": "hello", "token": token}, subscribe])
    scope = {
        "type": "websocket",
        "asgi": {"version": "3.0"},
        "path": "/realtime",
        "query_string": b"",
        "headers": [(b"host", b"service.test")],
        "client": ("127.0.0.1", 50_000),
        "state": {},
        "extensions": {"auth_collections.sink": socket},
    }

    async def send(_: Any) -> None:
        """The socket's messages do not pass through it."""

    await app(scope, socket.receive, send)
    return Answer(200, {}, b"")


async def walk(site: Site) -> None:
    """Makes what the requests need, then each request three times: the last one, with warm caches, is traced."""
    user = await signed_up(site, "user0@example.com")
    for name, schema in (("films", FILMS), ("plain", PLAIN)):
        await expect(201, site.ask("POST", "/api/collections", body={"name": name, "schema": schema}))
    film = {"data": {"title": "Metropolis", "by_id": user["user"]["id"]}}
    await expect(201, site.ask("POST", "/api/collections/films/documents", body=film))
    for name, request in describe_requests(site, user["access_token"]).items():
        await walk_request(site, name, request)
    await walk_callback(site)


async def walk_request(site: Site, name: str, request: Callable[[], Awaitable[Answer]]) -> None:
    for _ in range(TIMES - 1):
        await request()
    await note_walk(site, name, request)


async def walk_rules(site: Site) -> None:
    """The ways of a user under rules."""
    notes = {"name": "notes", "schema": RULED, "realtime": True}
    await expect(201, site.ask("POST", "/api/collections", body=notes))
    await expect(200, site.ask("PUT", "/api/rules", body=RULES))
    people = [await signed_up(site, f"reader{number}@example.com") for number in range(TIMES)]
    links = [
        await expect(201, site.ask("POST", f"/auth-collections/users/{each['user']['id']}/links", body=RESET))
        for each in people
    ]
    own = {"authorization": f"Bearer {people[0]['access_token']}"}
    note = (await expect(201, site.ask("POST", NOTES, body={"data": {"title": "A note"}}, headers=own))).json()
    refreshes = iter([{"refresh_token": each["refresh_token"]} for each in people])
    resets = iter([{"token": link.json()["url"].partition("?t=")[2], "password": NEW_PASSWORD} for link in links])
    for name, request in describe_ruled(site, own, f"{NOTES}/{note['id']}").items():
        await walk_request(site, name, request)
    await walk_request(site, "subscribe", lambda: subscribe(site.app, people[0]["access_token"]))
    await walk_request(site, "refresh", lambda: site.ask("POST", "/auth-collections/refresh", body=next(refreshes)))
    await walk_request(site, "reset", lambda: site.ask("POST", "/auth-collections/reset-password", body=next(resets)))


def describe_ruled(site: Site, own: dict[str, str], note: str) -> dict[str, Callable[[], Awaitable[Answer]]]:
    """Each request of a user about the notes by name, as often as it is called."""
    plain = {"data": {"title": "A note"}}
    create = {"op": "create", "collection": "notes", **plain}
    return {
        "create-by-rule": lambda: site.ask("POST", NOTES, body=plain, headers=own),
        "change-by-rule": lambda: site.ask("PATCH", note, body=plain, headers=own),
        "list-by-rule": lambda: site.ask("GET", f"{NOTES}?limit=20&title_eq=A%20note", headers=own),
        "batch-by-rule": lambda: site.ask("POST", "/api/batch", body={"operations": [create, create]}, headers=own),
    }


def describe_requests(site: Site, token: str) -> dict[str, Callable[[], Awaitable[Answer]]]:
    """Each request by name, as often as it is called."""
    number = count()
    signup = "/auth-collections/signup"
    plain = {"data": {"title": "Metropolis"}}
    return {
        "profile": lambda: site.ask("GET", "/auth-collections/user", headers={"authorization": f"Bearer {token}"}),
        "list": lambda: site.ask("GET", "/auth-collections/users?limit=20&name_eq=A%20Name"),
        "list-related": lambda: site.ask("GET", f"{DOCUMENTS}films/documents?by.name_eq=A%20Name&populate=by"),
        "create-document": lambda: site.ask("POST", f"{DOCUMENTS}plain/documents", body=plain),
        "signup": lambda: site.ask("POST", signup, body=account(next(number))),
        "signup-file": lambda: site.ask("POST", signup, body=form(next(number)), headers=FORM_TYPE),
    }


async def walk_callback(site: Site) -> None:
    """The callback of a user who has signed in before."""
    await site.ask("GET", await sign_in(site, "ada"))
    target = await sign_in(site, "ada")
    await note_walk(site, "callback", lambda: site.ask("GET", target))


async def sign_in(site: Site, who: str) -> str:
    """The target of the callback after `who` signed in at the provider."""
    begun = await expect(200, site.ask("GET", "/auth-collections/login-idp"))
    back = urlsplit(await asyncio.to_thread(provider_answer, begun.json()["url"], who))
    return f"/auth-collections/auth-idp-redirect/{site.project}?{back.query}"


async def note_walk(site: Site, name: str, request: Callable[[], Awaitable[Answer]]) -> None:
    answer, site.walks[name] = await asyncio.create_task(trace(request))
    if answer.status >= 400 or "error" in answer.headers.get("location", ""):
        raise SystemExit(f"{name}: {answer}")


class NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def provider_answer(authorize_url: str, who: str) -> str:
    """The callback URL that the provider sends the browser of `who` to."""
    try:
        build_opener(NoRedirect).open(authorize_url, urlencode({"account": who}).encode())
    except HTTPError as response:
        return str(response.headers["location"])
    raise SystemExit("the provider did not redirect")


def account(number: int) -> dict[str, Any]:
    return {"email": f"somebody{number}@example.com", "password": "correct horse", "name": "A Name"}


def form(number: int) -> list[bytes]:
    """A signup with a picture, in the pieces in which an HTTP client writes it."""
    data = part('name="data"', json.dumps(account(number)).encode())
    return [*data, *part('name="avatar"; filename="me.png"', PNG), f"--{BOUNDARY}--\r\n".encode()]


def part(disposition: str, content: bytes) -> list[bytes]:
    head = f"Content-Disposition: form-data; {disposition}\r\n\r\n"
    return [f"--{BOUNDARY}\r\n".encode(), head.encode(), content, b"\r\n"]


async def signed_up(site: Site, email: str) -> Any:
    body = account(0) | {"email": email}
    return (await expect(201, site.ask("POST", "/auth-collections/signup", body=body))).json()


async def expect(status: int, request: Awaitable[Answer]) -> Answer:
    answer = await request
    if answer.status != status:
        raise SystemExit(f"{answer}")
    return answer


def create_project(name: str, settings: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    every = json.loads(os.environ["WALK_SETTINGS"]) | dict(settings)
    options = [f"--set={name}={value}" for name, value in every.items()]
    command = [sys.executable, "-m", "service", "project", "create", name, "--json", *options]
    made: dict[str, str] = json.loads(subprocess.check_output(command))  # noqa: S603 - the checkout's own
    return made


async def main(project: dict[str, str], ruled: dict[str, str]) -> None:
    sys.path.insert(0, str(Path.cwd()))
    from service.app import create_app
    from service.settings import read_settings

    app = create_app(read_settings())
    async with app.router.lifespan_context(app):
        site = Site(app, project["api_key"], project["project_id"])
        await walk(site)
        await walk_rules(Site(app, ruled["api_key"], ruled["project_id"], site.walks))
    sys.stdout.write(json.dumps(site.walks))


if __name__ == "__main__":
    asyncio.run(main(create_project("Walk"), create_project("Rules", SHORT_LIVED)))
