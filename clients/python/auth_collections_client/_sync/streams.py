# Written by clients/python/unasync from _async: change that.
"""Imports and exports of whole collections, in memory that does not depend on their size."""

from collections.abc import Iterator, Mapping
from typing import Any

from auth_collections_client._sync import seam
from auth_collections_client._sync.transport import Transport
from auth_collections_client.calls import Call, Options, query_of
from auth_collections_client.queries import condition_text
from auth_collections_client.rows import BATCH, Format, content_type, line_of


def chunks_of(rows: Any) -> Iterator[bytes]:
    """Yields the rows as bytes, a few at a time, as fast as they are sent."""
    gathered = bytearray()
    for row in seam.iterate(rows):
        gathered += line_of(row)
        if len(gathered) >= BATCH:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)


def import_rows(
    transport: Transport,
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
    answer: dict[str, Any] = (transport.send(call)).body
    return answer


def export_rows(
    transport: Transport,
    path: str,
    where: Any,
    format: Format,
    options: Options,
) -> Iterator[bytes]:
    """Yields the bytes of an export. One that is cut raises TransportError; it never looks like a shorter one."""
    query = query_of({"where": condition_text(where), "format": format})
    call = Call("GET", f"{path}/export", query, repeat="safe", is_write=False, is_stream=True, options=options)
    with transport.stream(call) as chunks:
        for chunk in chunks:
            yield chunk
