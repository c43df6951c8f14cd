"""Lists of documents and of users: pages, all records, and counts."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client.calls import Options, ask
from auth_collections_client.queries import query_body

# Records of a page of `each`; a page with counts is smaller.
PAGE, COUNTING_PAGE = 200, 100


async def fetch(
    transport: AsyncTransport, path: str, where: Any, query: Mapping[str, Any], options: Options
) -> dict[str, Any]:
    """Returns the answer to a query."""
    answer: dict[str, Any] = (await transport.send(ask(path, query_body(where, query), options=options))).body
    return answer


async def fetch_all(
    transport: AsyncTransport, path: str, name: str, where: Any, query: Mapping[str, Any], options: Options
) -> AsyncIterator[dict[str, Any]]:
    """Yields the records of all pages, at most `limit` of them."""
    left, page_limit = query.get("limit"), COUNTING_PAGE if query.get("with_counts") else PAGE
    cursor: str | None = "*"
    while cursor and (left is None or left > 0):
        limit = page_limit if left is None else min(page_limit, left)
        page = await fetch(transport, path, where, {**query, "cursor": cursor, "limit": limit}, options)
        for each in page[name]:
            yield each
        left = None if left is None else left - len(page[name])
        cursor = page.get("next")


async def fetch_count(transport: AsyncTransport, path: str, where: Any, count: str, options: Options) -> int:
    query = {"fields": ["id"], "limit": 1, "count": count}
    total: int = (await fetch(transport, path, where, query, options))["total"]
    return total
