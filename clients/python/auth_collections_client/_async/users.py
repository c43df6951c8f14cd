"""Users as lists, and one by one; their roles."""

from collections.abc import AsyncIterator, Sequence
from typing import Generic, Unpack

from auth_collections_client._async.lists import fetch, fetch_all, fetch_count
from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client._generics import MISSING, UW, U
from auth_collections_client.calls import Options, post, read, split_options
from auth_collections_client.encoding import segment
from auth_collections_client.errors import NotFoundError
from auth_collections_client.queries import Count, Limited, Paged, Shown, Sorted
from auth_collections_client.results import UserRecord, UsersPage, page_parts, read_user

USERS = "/auth-collections/users"
QUERY = f"{USERS}/query"


class AsyncUsers(Generic[U, UW]):
    """Users of the project, as far as the caller may see them."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, *, where: UW = MISSING, **query: Unpack[Paged]) -> UsersPage[UserRecord[U]]:
        """Returns one page."""
        options, parts = split_options(query)
        answer = await fetch(self._transport, QUERY, where, parts, options)
        return UsersPage([read_user(each) for each in answer["users"]], **page_parts(answer))

    async def each(self, *, where: UW = MISSING, **query: Unpack[Limited]) -> AsyncIterator[UserRecord[U]]:
        """Yields all users, in pages by cursor; `limit` bounds their number."""
        options, parts = split_options(query)
        async for found in fetch_all(self._transport, QUERY, "users", where, parts, options):
            yield read_user(found)

    async def first(self, *, where: UW = MISSING, **query: Unpack[Sorted]) -> UserRecord[U] | None:
        """Returns the first user, or None where `where` finds none."""
        options, parts = split_options(query)
        answer = await fetch(self._transport, QUERY, where, {**parts, "limit": 1, "count": "none"}, options)
        return next(map(read_user, answer["users"]), None)

    async def count(self, *, where: UW = MISSING, count: Count = "exact", **options: Unpack[Options]) -> int:
        return await fetch_count(self._transport, QUERY, where, count, options)

    async def get(self, id: str, **shown: Unpack[Shown]) -> UserRecord[U]:
        """Returns one user. Raises NotFoundError."""
        options, parts = split_options(shown)
        if not parts:
            return read_user((await self._transport.send(read(f"{USERS}/{segment(id)}", options=options))).body)
        answer = await fetch(self._transport, QUERY, {"id_eq": id}, {**parts, "limit": 1, "count": "none"}, options)
        if not answer["users"]:
            raise NotFoundError("User not found", status=404, code="user_not_found")
        return read_user(answer["users"][0])

    async def set_roles(self, id: str, roles: Sequence[str], **options: Unpack[Options]) -> UserRecord[U]:
        """Replaces the roles of a user, those that the caller may assign."""
        body = {"roles": list(roles)}
        call = post(f"{USERS}/{segment(id)}/roles", body, method="PUT", repeat="safe", options=options)
        return read_user((await self._transport.send(call)).body)
