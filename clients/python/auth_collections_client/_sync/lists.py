# Written by clients/python/unasync from _async: change that.
"""Lists of documents and of users: pages, all records, and counts."""

from collections.abc import Iterator, Mapping
from typing import Any

from auth_collections_client._sync.transport import Transport
from auth_collections_client.calls import Options, ask
from auth_collections_client.queries import query_body

# Records of a page of `each`; a page with counts is smaller.
PAGE, COUNTING_PAGE = 200, 100


def fetch(transport: Transport, path: str, where: Any, query: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Returns the answer to a query."""
    answer: dict[str, Any] = (transport.send(ask(path, query_body(where, query), options=options))).body
    return answer


def fetch_all(
    transport: Transport, path: str, name: str, where: Any, query: Mapping[str, Any], options: Options
) -> Iterator[dict[str, Any]]:
    """Yields the records of all pages, at most `limit` of them."""
    left, page_limit = query.get("limit"), COUNTING_PAGE if query.get("with_counts") else PAGE
    cursor: str | None = "*"
    while cursor and (left is None or left > 0):
        limit = page_limit if left is None else min(page_limit, left)
        page = fetch(transport, path, where, {**query, "cursor": cursor, "limit": limit}, options)
        for each in page[name]:
            yield each
        left = None if left is None else left - len(page[name])
        cursor = page.get("next")


def fetch_count(transport: Transport, path: str, where: Any, count: str, options: Options) -> int:
    query = {"fields": ["id"], "limit": 1, "count": count}
    total: int = (fetch(transport, path, where, query, options))["total"]
    return total
