"""The client: its settings, and the way to every part of the service."""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, Literal, Self, Unpack, overload
from urllib.parse import parse_qsl

from auth_collections_client._async.admin import AsyncAdmin
from auth_collections_client._async.auth import AsyncAuth
from auth_collections_client._async.batch import AsyncBatch
from auth_collections_client._async.collection import AsyncCollection
from auth_collections_client._async.keeper import AsyncKeeper
from auth_collections_client._async.line import AsyncLine
from auth_collections_client._async.live import AsyncLive
from auth_collections_client._async.seam import HttpClient
from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client._async.users import AsyncUsers
from auth_collections_client._generics import D2, MISSING, N2, UN, UW, W2, M, U
from auth_collections_client.calls import Call, LogRecord, Options, Settings, post, present, query_of, read
from auth_collections_client.encoding import json_bytes, plain, segment
from auth_collections_client.errors import ConfigurationError
from auth_collections_client.feeds import Feed
from auth_collections_client.queries import flatten
from auth_collections_client.sessions import Store, fixed
from auth_collections_client.values import CollectionRef

SortOrder = Literal["asc", "desc"]


class AsyncClient(Generic[U, UN, UW]):
    """Calls of one project. `session` is a store for sign-ins; `token` is a user's token that is given instead.

    `timeout` is in seconds and of one attempt, `max_retry_wait` the longest `Retry-After` that a call waits for.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        users: CollectionRef[U, UN, UW] | None = None,  # noqa: ARG002 - its types are the client's
        session: Store | None = None,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        max_retry_wait: float = 10.0,
        idempotent: bool = True,
        headers: Mapping[str, str] | None = None,
        http: HttpClient | None = None,
        log: Callable[[LogRecord], object] | None = None,
    ) -> None:
        if session is not None and token is not None:
            raise ConfigurationError("Give a session's store or a token, not both.")
        settings = Settings(url, key, timeout, retries, max_retry_wait, idempotent, headers or {}, log)
        keeper = AsyncKeeper(session, None if token is None else fixed(token))
        self._attach(AsyncTransport(settings, http, keeper))

    def _attach(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.auth: AsyncAuth[U] = AsyncAuth(transport)
        self.users: AsyncUsers[U, UW] = AsyncUsers(transport)
        self._admin = AsyncAdmin(transport)
        self._line: AsyncLine | None = None

    @property
    def admin(self) -> AsyncAdmin:
        """Returns the administration, which takes the secret key. A client that acts as one user has none."""
        if self._transport.keeper.is_fixed:
            raise ConfigurationError("A client with a token acts as its user: administer with the client of the key.")
        return self._admin

    def with_token(self, token: str) -> "AsyncClient[U, UN, UW]":
        """Returns a client that acts as the token's user, for one request of a server. It shares the connections."""
        client: AsyncClient[U, UN, UW] = object.__new__(type(self))
        client._attach(self._transport.with_keeper(AsyncKeeper(fixed=fixed(token))))
        return client

    @overload
    def collection(self, ref: CollectionRef[D2, N2, W2]) -> AsyncCollection[D2, N2, W2]: ...

    @overload
    def collection(self, ref: CollectionRef[D2, N2, W2], *, model: type[M]) -> AsyncCollection[M, N2 | M, W2]: ...

    @overload
    def collection(self, ref: str) -> AsyncCollection[dict[str, Any], Mapping[str, Any], Mapping[str, Any]]: ...

    @overload
    def collection(
        self, ref: str, *, model: type[M]
    ) -> AsyncCollection[M, Mapping[str, Any] | M, Mapping[str, Any]]: ...

    def collection(self, ref: Any, *, model: Any = None) -> Any:
        """Returns a collection by its typed reference or its name; a pydantic `model` is made of each row."""
        return AsyncCollection(self._transport, ref if isinstance(ref, str) else ref.name, model)

    @overload
    def live(
        self,
        ref: CollectionRef[D2, N2, W2],
        *,
        where: W2 = MISSING,
        sort_by: str | None = None,
        sort_order: SortOrder | None = None,
        limit: int | None = None,
    ) -> AsyncLive[D2]: ...

    @overload
    def live(
        self,
        ref: str,
        *,
        where: Mapping[str, Any] | None = None,
        sort_by: str | None = None,
        sort_order: SortOrder | None = None,
        limit: int | None = None,
    ) -> AsyncLive[dict[str, Any]]: ...

    def live(self, ref: Any, *, where: Any = None, **query: Any) -> Any:
        """Follows a query: an iterator of `Snapshot` and `Change`, which is also a context."""
        if self._line is None:
            self._line = AsyncLine(self._transport)
        named = {"collection": ref if isinstance(ref, str) else ref.name, **present(query)}
        asked = named if where is None else {**named, "where": plain(flatten(where))}
        return AsyncLive(self._line, Feed(asked, lambda data: data))

    def batch(self, *, atomic: bool = True, **options: Unpack[Options]) -> AsyncBatch:
        """Returns a batch, to be used as a context: it is sent when the block ends."""
        return AsyncBatch(self._transport, is_atomic=atomic, options=options)

    async def run_aggregation(self, name: str, **parameters: Any) -> dict[str, Any]:
        """Returns `{"rows": [...], "limit": int}` of a saved aggregation."""
        answer = await self._transport.send(read(f"/api/aggregations/{segment(name)}", parameters, options={}))
        found: dict[str, Any] = answer.body
        return found

    async def sign_urls(self, urls: Iterable[str], expires_in: int, **options: Unpack[Options]) -> dict[str, str]:
        """Returns for each URL of a file one that opens it for `expires_in` seconds."""
        body = {"urls": list(urls), "expires_in": expires_in}
        call = post("/api/files/sign", body, repeat="safe", is_write=False, options=options)
        signed: dict[str, str] = (await self._transport.send(call)).body["urls"]
        return signed

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Returns the JSON of any call. GET and HEAD are sent again, all others once."""
        if not path.startswith("/"):
            raise ConfigurationError("A path begins with /.")
        bare, _, text = path.partition("?")
        is_read = method.upper() in {"GET", "HEAD"}
        call = Call(
            method.upper(),
            bare,
            {**dict(parse_qsl(text, keep_blank_values=True)), **query_of(query)},
            content=content if json is None else json_bytes(json),
            content_type=None if json is None else "application/json",
            repeat="safe" if is_read else "once",
            is_write=not is_read,
            options=options,
        )
        return (await self._transport.send(call)).body

    async def aclose(self) -> None:
        """Closes the socket of live queries, and the connections unless the HTTP client was given."""
        if self._line is not None:
            await self._line.aclose()
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
