"""Bulk writes, followed until nothing is left."""

from collections.abc import Mapping
from typing import Any

from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client.calls import Options, post, query_of
from auth_collections_client.errors import ServiceError
from auth_collections_client.writes import change_body


async def run_many(
    transport: AsyncTransport, path: str, parts: Mapping[str, Any], options: Options, *, dry_run: bool
) -> dict[str, Any]:
    """Returns `{"matched", "changed", "next"}` of all calls, or the count of a dry run. An error says `changed` so far."""
    body = change_body(parts)
    total: dict[str, Any] = {"matched": None, "changed": 0, "next": None}
    cursor: str | None = None
    while True:
        query = query_of({"dry_run": dry_run or None, "cursor": cursor})
        try:
            call = post(path, body, query=query, options=options)
            done: dict[str, Any] = (await transport.send(call)).body
        except ServiceError as error:
            error.changed = total["changed"]
            raise
        if dry_run:
            return done
        total["matched"] = done["matched"] if total["matched"] is None else total["matched"]
        total["changed"] += done["changed"]
        cursor = done["next"]
        if cursor is None:
            return total
