"""A query string that asks for a page, and for nothing else: `limit=20&offset=40`."""

from dataclasses import dataclass

from starlette.requests import Request

from service.query.parse import parse_pairs, parse_query
from service.web.http.query_values import refuse_unknown

NAMES = ("limit", "offset")


@dataclass(frozen=True, slots=True)
class Paging:
    """The number of records of a page, and the number before it."""

    limit: int
    offset: int


def read_paging(request: Request) -> Paging:
    """As a list reads the two. Raises Invalid, for any other parameter as well."""
    query_string = request.scope["query_string"]
    refuse_unknown((name for name, _ in parse_pairs(query_string)), NAMES)
    query = parse_query(query_string)
    return Paging(query.limit, query.offset)
