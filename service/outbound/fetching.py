"""Requests to providers, and to services of the deployment: one pooled client, bounded in time and size.

It follows no redirect. A deadline of a request is its caller's, so that all callers share the pool.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from service.errors import Invalid
from service.schema import strict_json

CONNECT_SECONDS = 3.0
TOTAL_SECONDS = 10.0
MAX_BODY = 1024 * 1024
HEADERS = {
    "accept": "application/json",
    # A compressed megabyte may unpack to a gigabyte, so no encoding is offered and none is read.
    "accept-encoding": "identity",
    "user-agent": "auth-collections",
}


class FetchFailed(Exception):
    """A provider did not answer with a JSON object in time. The message is ours and holds nothing that was sent."""


class Outbound:
    """The pooled client. A deadline is a time of the running event loop, so that several requests can share one."""

    def __init__(self, *, connect_seconds: float = CONNECT_SECONDS, total_seconds: float = TOTAL_SECONDS) -> None:
        self.total_seconds = total_seconds
        self._connect = connect_seconds
        self._client: httpx2.AsyncClient | None = None
        self._making = asyncio.Lock()

    async def _pool(self) -> httpx2.AsyncClient:
        """The client, made on first use and in a thread: to load its TLS context takes a tenth of a second."""
        async with self._making:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make_client)
        return self._client

    def _make_client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=HEADERS,
            timeout=httpx2.Timeout(self.total_seconds, connect=self._connect),
            # Each provider has its share of sign-ins, so no request waits here for a connection.
            limits=httpx2.Limits(max_connections=None),
            follow_redirects=False,
            # One client serves every user of every project; a cookie kept would join their requests.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def get_json(self, url: str, *, deadline: float, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object at `url`. Raises FetchFailed for anything else, and when `deadline` passes."""
        return _object(await self._fetch("GET", url, deadline=deadline, headers=headers))

    async def get_list(self, url: str, *, deadline: float, headers: Mapping[str, str]) -> list[Any]:
        """The JSON array at `url`. Raises FetchFailed as get_json does."""
        value = _read(await self._fetch("GET", url, deadline=deadline, headers=headers))
        if not isinstance(value, list):
            raise FetchFailed("the provider's answer is not a JSON array")
        return value

    async def get_bytes(self, url: str, *, deadline: float, headers: Mapping[str, str]) -> bytes:
        """The body at `url`. Raises FetchFailed as get_json does."""
        return await self._fetch("GET", url, deadline=deadline, headers=headers)

    async def post_form(self, url: str, body: str, *, deadline: float, headers: Mapping[str, str]) -> dict[str, Any]:
        """The JSON object that answers the urlencoded form `body`. Raises FetchFailed as get_json does."""
        form = {"content-type": "application/x-www-form-urlencoded", **headers}
        return _object(await self._fetch("POST", url, deadline=deadline, headers=form, content=body.encode()))

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _fetch(self, method: str, url: str, *, deadline: float, **request: Any) -> bytes:
        async with until(deadline), (await self._pool()).stream(method, url, **request) as response:
            return await _body(response)


@asynccontextmanager
async def until(deadline: float) -> AsyncIterator[None]:
    """Ends the block at `deadline`. Raises FetchFailed for the time and for every failure of the transport."""
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except (TimeoutError, httpx2.TimeoutException):
        raise FetchFailed("the provider did not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise FetchFailed(f"the provider cannot be reached: {type(error).__name__}") from None


async def _body(response: httpx2.Response) -> bytes:
    if response.status_code != httpx2.codes.OK:
        raise FetchFailed(f"the provider answered {response.status_code}")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise FetchFailed("the provider sent a compressed answer")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_BODY:
            raise FetchFailed("the provider's answer is larger than 1 MiB")
    return bytes(body)


def _object(body: bytes) -> dict[str, Any]:
    value = _read(body)
    if not isinstance(value, dict):
        raise FetchFailed("the provider's answer is not a JSON object")
    return value


def _read(body: bytes) -> Any:
    try:
        return strict_json.loads(body)
    except Invalid:
        raise FetchFailed("the provider's answer is not JSON") from None
