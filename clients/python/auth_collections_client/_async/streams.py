"""Imports and exports of whole collections, in memory that does not depend on their size."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from auth_collections_client._async import seam
from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client.calls import Call, Options, query_of
from auth_collections_client.queries import condition_text
from auth_collections_client.rows import BATCH, Format, content_type, line_of


async def chunks_of(rows: Any) -> AsyncIterator[bytes]:
    """Yields the rows as bytes, a few at a time, as fast as they are sent."""
    gathered = bytearray()
    async for row in seam.iterate(rows):
        gathered += line_of(row)
        if len(gathered) >= BATCH:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)


async def import_rows(
    transport: AsyncTransport,
    path: str,
    rows: Any,
    format: Format | None,
    query: Mapping[str, Any],
    options: Options,
) -> dict[str, Any]:
    """Returns the service's answer: `created`, `updated`, `refused`, `errors`, `groups`."""
    is_whole = isinstance(rows, str | bytes)
    call = Call(
        "POST",
        f"{path}/import",
        query_of(query),
        content=line_of(rows) if is_whole else None,
        rows=None if is_whole else chunks_of(rows),
        content_type=content_type(rows, format),
        options=options,
    )
    answer: dict[str, Any] = (await transport.send(call)).body
    return answer


async def export_rows(
    transport: AsyncTransport,
    path: str,
    where: Any,
    format: Format,
    options: Options,
) -> AsyncIterator[bytes]:
    """Yields the bytes of an export. One that is cut raises TransportError; it never looks like a shorter one."""
    query = query_of({"where": condition_text(where), "format": format})
    call = Call("GET", f"{path}/export", query, repeat="safe", is_write=False, is_stream=True, options=options)
    async with transport.stream(call) as chunks:
        async for chunk in chunks:
            yield chunk
