"""The caller of a socket: its hello becomes a caller, and is refused as a request with that credential would be."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from starlette.types import Scope

from service.domain.access.caller import ProjectCaller, PublishableKeyCaller, SecretKeyCaller, UserCaller
from service.domain.limits.policies import DAILY
from service.domain.projects.lookup import PUBLISHABLE_PREFIX
from service.domain.realtime.connections import Connection, SocketSink
from service.errors import ServiceError, TooManySockets
from service.services import Services
from service.web.auth.client_address import client_address
from service.web.realtime.messages import Hello

UNAUTHENTIC, WRONG_ORIGIN, LIMITED = 4401, 4403, 4429
UNAVAILABLE = 1013


DAY_USED_UP = f"The limit of {DAILY.what} is reached"


class SocketRefused(Exception):
    """A socket that is closed, with the code and the reason."""

    def __init__(self, code: int, reason: str = "") -> None:
        self.code = code
        self.reason = reason
        super().__init__(code)


async def greet(hello: Hello, scope: Scope, sink: SocketSink, services: Services) -> Connection:
    """The connection, which is one of the worker's from now on. Raises Refused."""
    caller = await find_caller(hello, scope, services)
    if not is_allowed(origin_of(scope), caller, services.base.origin):
        raise SocketRefused(WRONG_ORIGIN)
    await count(caller, services)
    credential = hello.get("token") or hello.get("key") or ""
    connection = Connection(sink, caller, credential, expiry(credential) if isinstance(caller, UserCaller) else None)
    try:
        await services.realtime.join(connection)
    except TooManySockets as error:
        raise SocketRefused(LIMITED, error.detail) from None
    except ServiceError:
        raise SocketRefused(UNAVAILABLE) from None
    return connection


async def find_caller(hello: Hello, scope: Scope, services: Services) -> ProjectCaller:
    """Raises Refused."""
    try:
        if (key := hello.get("key")) is not None:
            caller: ProjectCaller = await _find_key(key, scope, services)
        else:
            caller = await services.sessions.tokens.verify(hello["token"])
            await services.access.require_user(caller)
    except ServiceError as error:
        raise SocketRefused(UNAUTHENTIC if error.status < 500 else UNAVAILABLE) from None
    if hello.get("project", caller.project.id) != caller.project.id:
        raise SocketRefused(UNAUTHENTIC)
    return caller


async def _find_key(key: str, scope: Scope, services: Services) -> ProjectCaller:
    project = await services.base.projects.by_api_key(key)
    if not key.startswith(PUBLISHABLE_PREFIX):
        return SecretKeyCaller(project)
    headers = scope["headers"]
    address = client_address(
        scope["client"][0] if scope.get("client") else None,
        services.web.trusted_proxies,
        x_forwarded_for=_values(headers, b"x-forwarded-for"),
        forwarded=_values(headers, b"forwarded"),
    )
    return PublishableKeyCaller(project, address)


async def count(caller: ProjectCaller, services: Services) -> None:
    """A hello and a subscription are requests of the project's day. Raises Refused."""
    try:
        quotas = await services.limits.count(caller.project, DAILY, "")
    except ServiceError:
        raise SocketRefused(UNAVAILABLE) from None
    if quotas and quotas[-1].exceeded:
        raise SocketRefused(LIMITED, DAY_USED_UP)


def origin_of(scope: Scope) -> str | None:
    found = _values(scope["headers"], b"origin")
    return ",".join(found) if found else None


def is_allowed(origin: str | None, caller: ProjectCaller, own: str) -> bool:
    """Pages of origins that the project lists, and of the service's own. A secret key is of no page."""
    if origin is None:
        return True
    listed = caller.project.settings.cors_origins
    return not isinstance(caller, SecretKeyCaller) and origin != "null" and (origin in {*listed, own} or "*" in listed)


def expiry(token: str) -> float:
    """When a token that was verified expires, in seconds since 1970."""
    part = token.split(".")[1]
    claims: Mapping[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return float(claims["exp"])


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]
