# Written by clients/python/unasync from _async: change that.
"""Users as lists, and one by one; their roles."""

from collections.abc import Iterator, Sequence
from typing import Generic, Unpack

from auth_collections_client._generics import MISSING, UW, U
from auth_collections_client._sync.lists import fetch, fetch_all, fetch_count
from auth_collections_client._sync.transport import Transport
from auth_collections_client.calls import Options, post, read, split_options
from auth_collections_client.encoding import segment
from auth_collections_client.errors import NotFoundError
from auth_collections_client.queries import Count, Limited, Paged, Shown, Sorted
from auth_collections_client.results import UserRecord, UsersPage, page_parts, read_user

USERS = "/auth-collections/users"
QUERY = f"{USERS}/query"


class Users(Generic[U, UW]):
    """Users of the project, as far as the caller may see them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, where: UW = MISSING, **query: Unpack[Paged]) -> UsersPage[UserRecord[U]]:
        """Returns one page."""
        options, parts = split_options(query)
        answer = fetch(self._transport, QUERY, where, parts, options)
        return UsersPage([read_user(each) for each in answer["users"]], **page_parts(answer))

    def each(self, *, where: UW = MISSING, **query: Unpack[Limited]) -> Iterator[UserRecord[U]]:
        """Yields all users, in pages by cursor; `limit` bounds their number."""
        options, parts = split_options(query)
        for found in fetch_all(self._transport, QUERY, "users", where, parts, options):
            yield read_user(found)

    def first(self, *, where: UW = MISSING, **query: Unpack[Sorted]) -> UserRecord[U] | None:
        """Returns the first user, or None where `where` finds none."""
        options, parts = split_options(query)
        answer = fetch(self._transport, QUERY, where, {**parts, "limit": 1, "count": "none"}, options)
        return next(map(read_user, answer["users"]), None)

    def count(self, *, where: UW = MISSING, count: Count = "exact", **options: Unpack[Options]) -> int:
        return fetch_count(self._transport, QUERY, where, count, options)

    def get(self, id: str, **shown: Unpack[Shown]) -> UserRecord[U]:
        """Returns one user. Raises NotFoundError."""
        options, parts = split_options(shown)
        if not parts:
            return read_user((self._transport.send(read(f"{USERS}/{segment(id)}", options=options))).body)
        answer = fetch(self._transport, QUERY, {"id_eq": id}, {**parts, "limit": 1, "count": "none"}, options)
        if not answer["users"]:
            raise NotFoundError("User not found", status=404, code="user_not_found")
        return read_user(answer["users"][0])

    def set_roles(self, id: str, roles: Sequence[str], **options: Unpack[Options]) -> UserRecord[U]:
        """Replaces the roles of a user, those that the caller may assign."""
        body = {"roles": list(roles)}
        call = post(f"{USERS}/{segment(id)}/roles", body, method="PUT", repeat="safe", options=options)
        return read_user((self._transport.send(call)).body)
