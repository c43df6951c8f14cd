"""A live query: an iterator of its snapshot and its changes, with the documents as they are now."""

from types import TracebackType
from typing import Any, Generic, Self

from auth_collections_client._async.line import AsyncLine
from auth_collections_client._generics import D
from auth_collections_client.errors import ServiceError
from auth_collections_client.feeds import Feed, State
from auth_collections_client.results import Change, Document, Snapshot


class AsyncLive(Generic[D]):
    """Iterate over it. Nothing is read while it is not consumed: a reader that falls behind gets a new `Snapshot`."""

    def __init__(self, line: AsyncLine, feed: Feed) -> None:
        self._line = line
        self._feed = feed
        line.add(feed)

    @property
    def documents(self) -> list[Document[D]]:
        """The documents of the window, in the order of the query."""
        return self._feed.documents

    @property
    def state(self) -> State:
        """`connecting`, `live`, `stale` while the documents may be old, `closed`."""
        return self._feed.state

    @property
    def problem(self) -> ServiceError | None:
        """The reason for which the service ended it."""
        return self._feed.problem

    async def aclose(self) -> None:
        await self._line.remove(self._feed)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Snapshot[D] | Change[D]:
        """Returns the next event. Raises the problem where the service ended the query."""
        event: Any = await self._line.next(self._feed)
        if event is not None:
            found: Snapshot[D] | Change[D] = event
            return found
        if self._feed.problem is not None:
            raise self._feed.problem
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
