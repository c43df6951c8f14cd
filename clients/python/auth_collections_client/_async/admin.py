"""`client.admin`: what a project's servers do with the secret key."""

from collections.abc import Mapping
from typing import Any, Unpack

from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client.calls import Call, Options, if_match, post, query_of, read
from auth_collections_client.encoding import segment
from auth_collections_client.writes import Fields, Version, collection_path

USERS = "/auth-collections/users"
condition = if_match


class AsyncPart:
    """Sends calls with the key alone, also while a user is signed in."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _read(self, path: str, query: Mapping[str, Any] | None, options: Options) -> Any:
        return (await self._transport.send(read(path, query, credential="key", options=options))).body

    async def _send(self, method: str, path: str, body: Any, options: Options, **more: Any) -> Any:
        """A PUT ends alike however often it is sent; with a condition the second one would find its own version."""
        more = {"repeat": "safe" if method == "PUT" and not more.get("headers") else "once", **more}
        call = post(path, body, method=method, credential="key", options=options, **more)
        return (await self._transport.send(call)).body

    async def _delete(self, path: str, options: Options) -> None:
        await self._transport.send(Call("DELETE", path, repeat="safe", credential="key", options=options))


class AsyncCollections(AsyncPart):
    """Collections and their schemas."""

    async def list(self, **options: Unpack[Options]) -> dict[str, Any]:
        found: dict[str, Any] = await self._read("/api/collections", None, options)
        return found

    async def get(self, name: str, **options: Unpack[Options]) -> dict[str, Any]:
        found: dict[str, Any] = await self._read(collection_path(name), None, options)
        return found

    async def create(self, definition: Fields, **options: Unpack[Options]) -> dict[str, Any]:
        """Declares a collection: `{"name", "schema", "realtime"?, "unique"?, "indexes"?}`."""
        made: dict[str, Any] = await self._send("POST", "/api/collections", definition, options)
        return made

    async def change(
        self, name: str, changes: Fields, *, dry_run: bool | None = None, **options: Unpack[Options]
    ) -> dict[str, Any]:
        """Changes the `schema` of a collection, or its options `realtime`, `unique` and `indexes`."""
        query = query_of({"dry_run": dry_run})
        changed: dict[str, Any] = await self._send("PATCH", collection_path(name), changes, options, query=query)
        return changed

    async def drop(self, name: str, **options: Unpack[Options]) -> None:
        """Deletes a collection with its documents."""
        await self._delete(collection_path(name), options)


class AsyncRules(AsyncPart):
    """Access rules of the project."""

    async def get(self, **options: Unpack[Options]) -> dict[str, Any]:
        found: dict[str, Any] = await self._read("/api/rules", None, options)
        return found

    async def put(
        self,
        rules: Fields,
        *,
        dry_run: bool | None = None,
        indexes: bool | None = None,
        if_match: Version = None,
        **options: Unpack[Options],
    ) -> dict[str, Any]:
        """Replaces all rules."""
        query, headers = query_of({"dry_run": dry_run, "indexes": indexes}), condition(if_match)
        saved: dict[str, Any] = await self._send("PUT", "/api/rules", rules, options, query=query, headers=headers)
        return saved

    async def explain(self, question: Fields, **options: Unpack[Options]) -> dict[str, Any]:
        """Says why a caller may do something, or may not."""
        more = {"repeat": "safe", "is_write": False}
        answer: dict[str, Any] = await self._send("POST", "/api/rules/explain", question, options, **more)
        return answer


class AsyncAggregations(AsyncPart):
    """Saved aggregations; `client.run_aggregation` runs one."""

    async def list(self, **options: Unpack[Options]) -> dict[str, Any]:
        found: dict[str, Any] = await self._read("/api/aggregations", None, options)
        return found

    async def save(self, name: str, definition: Fields, **options: Unpack[Options]) -> dict[str, Any]:
        path = f"/api/aggregations/{segment(name)}"
        saved: dict[str, Any] = await self._send("PUT", path, definition, options)
        return saved

    async def delete(self, name: str, **options: Unpack[Options]) -> None:
        await self._delete(f"/api/aggregations/{segment(name)}", options)


class AsyncProfile(AsyncPart):
    """The schema of users' profiles."""

    async def get(self, **options: Unpack[Options]) -> dict[str, Any]:
        found: dict[str, Any] = await self._read("/auth-collections/schema", None, options)
        return found

    async def put(
        self,
        schema: Fields,
        *,
        additional: bool = True,
        dry_run: bool | None = None,
        if_match: Version = None,
        **options: Unpack[Options],
    ) -> dict[str, Any]:
        """Replaces the whole schema."""
        body, query = {"schema": schema, "additional": additional}, query_of({"dry_run": dry_run})
        path, headers = "/auth-collections/schema", condition(if_match)
        saved: dict[str, Any] = await self._send("PUT", path, body, options, query=query, headers=headers)
        return saved


class AsyncUserAdmin(AsyncPart):
    """Users, made and changed by a server."""

    async def create(self, user: Fields, **options: Unpack[Options]) -> dict[str, Any]:
        """Makes a user of an `email` and, where they are there, `password`, `data`, `claims`, `roles` and others."""
        made: dict[str, Any] = await self._send("POST", USERS, user, options)
        return made

    async def change(self, id: str, changes: Fields, **options: Unpack[Options]) -> dict[str, Any]:
        """Changes `email`, `data`, `claims`, `roles`, `email_verified` or `disabled`."""
        path = f"{USERS}/{segment(id)}"
        changed: dict[str, Any] = await self._send("PATCH", path, changes, options, repeat="safe")
        return changed

    async def delete(self, id: str, **options: Unpack[Options]) -> None:
        await self._delete(f"{USERS}/{segment(id)}", options)

    async def set_password(self, id: str, password: str, **options: Unpack[Options]) -> None:
        await self._send("PUT", f"{USERS}/{segment(id)}/password", {"password": password}, options)

    async def sessions(self, id: str, **options: Unpack[Options]) -> dict[str, Any]:
        found: dict[str, Any] = await self._read(f"{USERS}/{segment(id)}/sessions", None, options)
        return found

    async def end_sessions(self, id: str, **options: Unpack[Options]) -> None:
        await self._delete(f"{USERS}/{segment(id)}/sessions", options)

    async def remove_factors(self, id: str, **options: Unpack[Options]) -> None:
        await self._delete(f"{USERS}/{segment(id)}/factors", options)

    async def make_link(self, id: str, link: Fields, **options: Unpack[Options]) -> dict[str, Any]:
        """Returns `{"url", "code", "flow_id", "expires_at"}` for a `purpose`, for a mail that the project sends itself."""
        made: dict[str, Any] = await self._send("POST", f"{USERS}/{segment(id)}/links", link, options)
        return made


class AsyncMails(AsyncPart):
    """Mails of the project."""

    async def list(
        self, *, limit: int | None = None, offset: int | None = None, **options: Unpack[Options]
    ) -> dict[str, Any]:
        query = {"limit": limit, "offset": offset}
        found: dict[str, Any] = await self._read("/auth-collections/mails", query, options)
        return found

    async def retry(self, id: str, **options: Unpack[Options]) -> None:
        path = f"/auth-collections/mails/{segment(id)}/retry"
        await self._transport.send(Call("POST", path, credential="key", options=options))


class AsyncAdmin(AsyncPart):
    """The administration of a project, for its servers."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.collections = AsyncCollections(transport)
        self.rules = AsyncRules(transport)
        self.aggregations = AsyncAggregations(transport)
        self.profile = AsyncProfile(transport)
        self.users = AsyncUserAdmin(transport)
        self.mails = AsyncMails(transport)

    async def events(
        self,
        *,
        type: str | None = None,
        user_id: str | None = None,
        since: Any = None,
        until: Any = None,
        limit: int | None = None,
        offset: int | None = None,
        count: bool | None = None,
        **options: Unpack[Options],
    ) -> dict[str, Any]:
        """Returns a page of the events of all users."""
        page = {"limit": limit, "offset": offset, "count": count}
        query = {"type": type, "user_id": user_id, "since": since, "until": until, **page}
        found: dict[str, Any] = await self._read("/auth-collections/events", query, options)
        return found

    async def changes(
        self,
        *,
        after: str | None = None,
        events: str | None = None,
        limit: int | None = None,
        wait: int | None = None,
        **options: Unpack[Options],
    ) -> dict[str, Any]:
        """Returns a page of what was written. Its `next` is `after` of the next call.

        `events` are patterns with commas between them, `wait` the seconds to wait for a first event.
        """
        query = {"after": after, "events": events, "limit": limit, "wait": wait}
        found: dict[str, Any] = await self._read("/api/changes", query, options)
        return found
