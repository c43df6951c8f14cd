"""Sends calls: credentials, attempts, refreshes. No other module touches HTTP."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from uuid import uuid4

import httpx2

from auth_collections_client._async import seam
from auth_collections_client._async.keeper import AsyncKeeper
from auth_collections_client.answers import ERROR_BYTES, Answer, bad_answer, is_json, read_answer
from auth_collections_client.calls import Call, Settings, post
from auth_collections_client.errors import NotFoundError, ServiceError
from auth_collections_client.retries import Tries
from auth_collections_client.sessions import Session
from auth_collections_client.wire import closed_error, headers_of, report, translated


@dataclass(slots=True)
class Progress:
    """A call under way: its session, its attempts, and when the present one began."""

    call: Call
    session: Session | None
    tries: Tries
    number: int = 0
    began: float = 0.0
    is_renewed: bool = False

    @property
    def token(self) -> str | None:
        return self.call.token or (self.session and self.session["access_token"])


class AsyncTransport:
    """Shared by a client and those of `with_token`, which differ by their `keeper`."""

    def __init__(self, settings: Settings, http: seam.HttpClient | None, keeper: AsyncKeeper) -> None:
        self.settings = settings
        self.keeper = keeper
        self._is_own = http is None
        self._http = http or _make_http()

    def with_keeper(self, keeper: AsyncKeeper) -> "AsyncTransport":
        return AsyncTransport(self.settings, self._http, keeper)

    async def aclose(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def send(self, call: Call) -> Answer:
        """Returns the answer of a success. Raises the error of the last attempt."""
        progress = await self._begin(call)
        try:
            answer: Answer = await self._persist(progress, self._exchange)
        except NotFoundError:
            # An earlier attempt may have deleted it: the answer to that was lost.
            if call.method == "DELETE" and progress.tries.is_unknown:
                return Answer(204, {}, None)
            raise
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """Gives the bytes of an answer as they come; its beginning alone is tried again. A cut stream raises."""
        response: seam.HttpResponse = await self._persist(await self._begin(call), self._open)
        try:
            with translated():
                yield response.aiter_bytes()
        finally:
            await response.aclose()

    async def refresh(self, refresh_token: str) -> Any:
        """Returns the service's answer to a refresh token."""
        body = {"refresh_token": refresh_token}
        call = post("/auth-collections/refresh", body, repeat="safe", is_write=False, credential="none", options={})
        return (await self.send(call)).body

    async def _begin(self, call: Call) -> Progress:
        uses_session = call.credential in {"caller", "both"} and call.token is None
        session = await self.keeper.fresh(self.refresh) if uses_session else None
        call = self._keyed(call, has_token=session is not None)
        most = call.options.get("retries", self.settings.retries) if call.rows is None else 0
        return Progress(call, session, Tries(call.repeat, call.is_write, most, self.settings.max_retry_wait))

    def _keyed(self, call: Call, *, has_token: bool) -> Call:
        """Returns the call with its `Idempotency-Key`, or as one that is sent once where the service takes no key."""
        if call.repeat != "keyed":
            return call
        takes_key = has_token or self.settings.has_secret_key or call.path == "/auth-collections/signup"
        wants_key = call.options.get("idempotent", self.settings.idempotent)
        if call.form or not takes_key or not wants_key:
            return replace(call, repeat="once")
        return replace(call, headers={**call.headers, "idempotency-key": str(uuid4())})

    async def _persist(self, progress: Progress, run: Callable[[Progress], Any]) -> Any:
        """Runs attempts until one succeeds, or none may follow."""
        while True:
            progress.number += 1
            progress.began = time.monotonic()
            try:
                return await run(progress)
            except ServiceError as error:
                wait = await self._wait_after(progress, error)
                self._report(progress, error, wait)
                if wait is None:
                    raise
                await seam.sleep(wait)

    async def _wait_after(self, progress: Progress, error: ServiceError) -> float | None:
        """Returns the seconds until the next attempt; a refused token is refreshed, once, and none is waited."""
        if error.code == "invalid_token" and progress.session and not progress.is_renewed:
            progress.is_renewed = True
            successor = await self.keeper.renew(progress.session, self.refresh)
            if successor:
                progress.session = successor
                return 0.0
        return progress.tries.wait_after(error, has_key="idempotency-key" in progress.call.headers)

    async def _exchange(self, progress: Progress) -> Answer:
        with translated():
            async with seam.deadline(progress.call.seconds(self.settings.timeout)):
                response = await self._connect(progress)
                try:
                    content = await self._read(response, progress)
                finally:
                    await response.aclose()
        answer = read_answer(response.status_code, response.headers, content)
        self._report(progress, answer, None)
        return answer

    async def _open(self, progress: Progress) -> seam.HttpResponse:
        """Returns a response whose success is certain and whose body was not read."""
        with translated():
            response = await self._connect(progress)
            if response.status_code == 200:
                return response
            try:
                content = await self._read(response, progress)
            finally:
                await response.aclose()
        read_answer(response.status_code, response.headers, content)
        raise bad_answer(response.status_code, response.headers)

    async def _connect(self, progress: Progress) -> seam.HttpResponse:
        if self._http.is_closed:
            raise closed_error()
        call, settings = progress.call, self.settings
        headers = headers_of(call, settings, progress.token)
        content: Any = call.content if call.rows is None else call.rows
        if call.form:
            headers |= {"content-type": call.form.content_type, "content-length": str(call.form.length)}
            content = seam.pump(call.form.chunks, call.tell)
        request = self._http.build_request(
            call.method,
            settings.url.rstrip("/") + call.path,
            headers=headers,
            content=content,
            timeout=httpx2.Timeout(call.seconds(settings.timeout)),
            params=call.query or None,
        )
        return await self._http.send(request, stream=True, auth=None, follow_redirects=False)

    async def _read(self, response: seam.HttpResponse, progress: Progress) -> bytes:
        """Returns the JSON of an answer; nothing of one that is not ours, and no more of an error than its bound."""
        if not is_json(response.headers):
            return b""
        most = None if response.status_code < 300 else ERROR_BYTES
        seconds = progress.call.seconds(self.settings.timeout)
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if most is not None and len(content) > most:
                return b""
            if time.monotonic() - progress.began > seconds:
                raise TimeoutError
        return bytes(content)

    def _report(self, progress: Progress, outcome: Answer | ServiceError, wait: float | None) -> None:
        ms = (time.monotonic() - progress.began) * 1000
        report(self.settings, progress.call, progress.number, ms, outcome, wait)


def _make_http() -> seam.HttpClient:
    """Returns an HTTP client that keeps no cookie: requests of several users share it."""
    http = seam.HttpClient(limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20))
    http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return http
