"""Runs the conformance table with the Python client, in one colour."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import httpx2

import auth_collections_client as library
from auth_collections_client import (
    AsyncClient,
    AsyncTokenVerifier,
    Client,
    ConfigurationError,
    File,
    ServiceError,
    TokenError,
    TokenVerifier,
    ValidationError,
    memory,
    raw,
)
from auth_collections_client.sessions import RedirectUrl
from tests.served.clients.python.colours import Awaited

TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
FORMS: dict[str, Any] = {
    "$id": lambda value: isinstance(value, str) and re.fullmatch(r"[0-9a-f]{24}", value),
    "$time": lambda value: isinstance(value, str) and TIME.fullmatch(value),
    "$text": lambda value: isinstance(value, str),
    "$number": lambda value: isinstance(value, int | float),
    "$any": lambda value: value is not None,
    "$absent": lambda value: value is None,
}
ERROR = ("code", "outcome", "status", "current", "matched", "changed", "errors")
# Questions to the harness: the path, the parameter, and the part of the answer.
ASKED = {
    "$code": ("mail", "to", "code"),
    "$link": ("mail", "to", "token"),
    "$totp": ("totp", "secret", "code"),
    "$id_token": ("id_token", "nonce", "token"),
    "$visit": ("visit", "url", "url"),
}
# Keywords of TypeScript alone.
ELSEWHERE = ("stay",)


def shown(value: Any) -> Any:
    """The result as the table writes it: objects with attributes become objects."""
    if is_dataclass(value):
        return {each.name: shown(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: shown(each) for name, each in value.items()}
    return [shown(each) for each in value] if isinstance(value, list | tuple) else value


def described(error: Exception) -> dict[str, Any]:
    return {"class": type(error).__name__, "message": str(error)} | {name: getattr(error, name, None) for name in ERROR}


def matches(value: Any, pattern: Any, place: str = "") -> str | None:
    """None if the value is as the pattern wants it, else the place where it is not."""
    if isinstance(pattern, str) and pattern in FORMS:
        return None if FORMS[pattern](value) else place or "/"
    if isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            return f"{place}/length"
        pairs: Any = enumerate(pattern)
    elif isinstance(pattern, dict):
        if not isinstance(value, dict):
            return place or "/"
        pairs = pattern.items()
    else:
        return None if value == pattern and type(value) is type(pattern) else place or "/"
    found = (matches(at(value, name), each, f"{place}/{name}") for name, each in pairs)
    return next((each for each in found if each is not None), None)


def at(value: Any, name: Any) -> Any:
    return value.get(name) if isinstance(value, dict) else value[int(name)]


class Runner:
    """The clients and the saved values of one run."""

    def __init__(self, colour: str, config: Mapping[str, str], control: httpx2.AsyncClient) -> None:
        self.colour, self.config, self.control = colour, config, control
        self.saved: dict[str, Any] = {}
        self.clients: dict[str, Any] = {}
        # TypeScript keeps the verifiers itself.
        self.verifiers: dict[str, str] = {}
        self.events: dict[str, list[str]] = {}

    async def close(self) -> None:
        for client in self.clients.values():
            async with client:
                pass

    def client(self, caller: str) -> Any:
        if caller not in self.clients:
            keys = {"server": self.config["secret_key"], "wrong key": f"{self.config['publishable_key']}x"}
            key = keys.get(caller, self.config["publishable_key"])
            store = memory() if caller.startswith("user") else None
            made: Any = (Client if self.colour == "sync" else AsyncClient)(self.config["url"], key, session=store)
            self.events[caller] = []
            made.auth.on_change(lambda event, _: self.events[caller].append(event))
            self.clients[caller] = Awaited(made) if self.colour == "sync" else made
        return self.clients[caller]

    async def ask(self, path: str) -> Any:
        return (await self.control.get(f"{self.config['control']}/{path}")).json()

    async def resolve(self, value: Any) -> Any:
        """Arguments with saved values and special values in their places."""
        if isinstance(value, str) and value.startswith("$") and value[1:] in self.saved:
            return self.saved[value[1:]]
        if isinstance(value, list):
            return [await self.resolve(each) for each in value]
        if not isinstance(value, dict):
            return value
        resolved = {name: await self.resolve(each) for name, each in value.items()}
        name, given = next(iter(resolved.items()), ("", None))
        return await self.special(name, given, resolved)

    async def special(self, name: str, given: Any, value: dict[str, Any]) -> Any:
        if name in ASKED:
            path, parameter, taken = ASKED[name]
            others = {key: each for key, each in value.items() if key != name}
            return (await self.ask(f"{path}?{urlencode({parameter: given, **others})}"))[others.get("take", taken)]
        match name:
            case "$join":
                return "".join(given)
            case "$date":
                return datetime.fromisoformat(given)
            case "$raw":
                return raw(given)
            case "$file":
                return File(given["name"], base64.b64decode(given["base64"]))
        return value

    def part(self, caller: str, name: str) -> Any:
        """The method of a call."""
        owner, *rest = name.split(".")
        found = self.client(caller)
        if owner not in {"client", "auth", "users", "admin"}:
            return getattr(found.collection(owner), rest[0])
        for each in rest if owner == "client" else [owner, *rest]:
            found = getattr(found, each)
        return found

    async def call(self, entry: Mapping[str, Any]) -> Any:
        name, args = entry["call"], entry.get("args", [])
        named = {key: value for key, value in entry.get("with", {}).items() if key not in ELSEWHERE}
        if name.startswith("live."):
            return await self.follow(entry, named)
        if name == "client.batch":
            return await self.batch(entry["as"], args[0], named)
        if name == "verify.verify":
            return await self.verify(args, named)
        if name in {"auth.complete_redirect", "auth.confirm_link"}:
            args = [*args, self.verifiers.pop(entry["as"], "v" * 43)]
        made = self.part(entry["as"], name)(*args, **named)
        if name.endswith((".each", ".export_rows")):
            found = [each async for each in made]
            return b"".join(found).decode() if name.endswith(".export_rows") else found
        result = await made
        if isinstance(result, RedirectUrl):
            self.verifiers[entry["as"]] = result.verifier
        return result

    async def verify(self, args: list[Any], named: dict[str, Any]) -> Any:
        settings = {"issuer": self.config["issuer"], **named}
        kind: Any = TokenVerifier if self.colour == "sync" else AsyncTokenVerifier
        made = kind(self.config["url"], self.config["project_id"], **settings)
        async with Awaited(made) if self.colour == "sync" else made as verifier:
            return await verifier.verify(*args)

    async def batch(self, caller: str, operations: list[dict[str, Any]], named: dict[str, Any]) -> Any:
        made: dict[str, Any] = {}

        def fill(value: Any) -> Any:
            if isinstance(value, dict):
                name = value.get("$placeholder")
                return made[name] if name else {key: fill(each) for key, each in value.items()}
            return [fill(each) for each in value] if isinstance(value, list) else value

        async with self.client(caller).batch(**named) as batch:
            for each in operations:
                method = getattr(batch.collection(each["on"]), each["call"])
                made[each.get("as", "")] = method(*fill(each.get("args", [])), **fill(each.get("with", {})))
        return batch.results

    async def follow(self, entry: Mapping[str, Any], named: dict[str, Any]) -> Any:
        """Takes each step, and consumes events until the window is as it shows."""
        async with self.client(entry["as"]).live(entry["call"].partition(".")[2], **named) as live:
            for step in entry["steps"]:
                if "call" in step:
                    await self.call(await self.resolve(step))
                while matches(shown(live.documents), await self.resolve(step["shows"])) is not None:
                    await anext(live)
            return live.documents

    async def run(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The report of one entry."""
        asked = {name: entry[name] for name in ("as", "call", "args", "with") if name in entry}
        resolved = {**await self.resolve(asked), "steps": entry.get("steps")}
        faults = entry.get("fault", [])
        begun = {"faults": [faults] if isinstance(faults, str) else faults}
        await self.control.post(f"{self.config['control']}/begin", json=begun)
        self.client(entry["as"])
        self.events[entry["as"]].clear()
        value, error = None, None
        try:
            value = shown(await self.call(resolved))
        except (ServiceError, TokenError, ConfigurationError) as raised:
            error = described(raised)
        self.save(entry.get("save", {}), value)
        wrong = await self.judge(entry, value, error) or await self.surroundings(entry)
        report = {"name": entry["name"], "ok": wrong is None}
        return report if wrong is None else report | {"wrong": wrong, "got": repr(value if error is None else error)}

    def save(self, named: Mapping[str, str], value: Any) -> None:
        for name, path in named.items():
            found = value
            for each in filter(None, path.split(".")):
                found = at(found, each)
            self.saved[name] = found

    async def judge(self, entry: Mapping[str, Any], value: Any, error: dict[str, Any] | None) -> str | None:
        if "error" in entry:
            wanted = {name: each for name, each in entry["error"].items() if name != "at"}
            place = entry["error"].get("at")
            return matches(error, wanted) or (None if place is None else wrong_message(error, *place))
        if error is not None:
            return "/"
        return matches(value, await self.resolve(entry["result"])) if "result" in entry else None

    async def surroundings(self, entry: Mapping[str, Any]) -> str | None:
        if "events" in entry and self.events[entry["as"]] != entry["events"]:
            return f"/events {self.events[entry['as']]}"
        if "requests" in entry and (found := (await self.ask("requests"))["requests"]) != entry["requests"]:
            return f"/requests {found}"
        if "count" not in entry:
            return None
        counted = await self.resolve(entry["count"])
        found = await self.client("server").collection(counted["collection"]).count(where=counted["where"])
        return None if found == counted["is"] else f"/count {found}"


def wrong_message(error: Any, path: list[Any], message: str) -> str | None:
    found = ValidationError("", body={"detail": error["errors"]}).at(*path)
    return None if found == message else f"/at {found}"


async def run_all(colour: str, config: Mapping[str, str], calls: str) -> list[dict[str, Any]]:
    """The reports of all entries, in order."""
    async with httpx2.AsyncClient() as control:
        runner = Runner(colour, config, control)
        try:
            return [await runner.run(entry) for entry in json.loads(calls)["calls"]]
        finally:
            await runner.close()


CLASSES = {name for name in library.__all__ if name.endswith("Error")}
