"""The ways in which an endpoint of the test provider misbehaves. Each row makes a whole answer."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

MEGABYTE = 1024 * 1024
SLOW_SECONDS = 30


async def _huge() -> Response:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"access_token": "'
        for _ in range(10):
            yield b"x" * MEGABYTE
        yield b'"}'

    return StreamingResponse(body(), media_type="application/json")


async def _bomb() -> Response:
    packed = gzip.compress(b'{"access_token": "' + b"x" * 10 * MEGABYTE + b'"}')
    return Response(packed, headers={"content-encoding": "gzip"}, media_type="application/json")


async def _slow() -> Response:
    await asyncio.sleep(SLOW_SECONDS)
    return JSONResponse({})


def _always(response: Callable[[], Response]) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        return response()

    return answer


ANSWERS: dict[str, Callable[[], Awaitable[Response]]] = {
    "refused": _always(lambda: JSONResponse({"error": "invalid_grant", "error_description": "<script>"}, 400)),
    "refused_with_200": _always(lambda: JSONResponse({"error": "bad_verification_code"})),
    "500": _always(lambda: Response("Traceback (most recent call last)", 500)),
    "html": _always(lambda: HTMLResponse("<html><body>Maintenance</body></html>")),
    "10_mb": _huge,
    "gzip_bomb": _bomb,
    "redirect": _always(lambda: RedirectResponse("/elsewhere", 302)),
    "slow": _slow,
    "bad_json": _always(lambda: Response(b'{"access_token": ', media_type="application/json")),
    "array": _always(lambda: JSONResponse([{"access_token": "x"}])),
    "empty_object": _always(lambda: JSONResponse({})),
}
