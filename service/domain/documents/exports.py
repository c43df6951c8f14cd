"""All documents that a query finds, as they were at one moment, at the pace of the reader."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.reader import Engine
from service.query.commands import stages_of_all
from service.query.matching import is_streamed, whole_filter
from service.query.nodes import BoundQuery, ListQuery
from service.storage.documents import StoredDocument, read_document
from service.storage.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Export:
    """An export that has begun, and holds a place and a cursor until it is closed. `fields` are those of the collection."""

    fields: Sequence[str]
    documents: AsyncIterator[StoredDocument]
    held: AsyncExitStack

    async def close(self) -> None:
        """May be called again."""
        await self.held.aclose()


async def open_export(engine: Engine, caller: SecretKeyCaller, name: str, query: ListQuery) -> Export:
    """The first documents are read before this returns, so that what goes wrong at once is an answer.

    Raises CollectionNotFound, Invalid, PermissionRequired, Busy, QueryTooSlow, Unavailable.
    """
    reader, project = engine.of_server(caller, name), caller.project
    collection = await reader.collection()
    show = partial(project.database.file_urls.show_fields, fields=collection.files)
    bound = await reader.bind(query)
    async with AsyncExitStack() as held:
        await held.enter_async_context(engine.transfers.take(project.id))
        resolved = await reader.resolve(bound)
        snapshot = Snapshot(project.database, bound.collection)
        held.push_async_callback(snapshot.close)
        await _begin(snapshot, resolved)
        first = await snapshot.next_batch()
        return Export(list(collection.fields), _documents(snapshot, first, show), held.pop_all())


async def _begin(snapshot: Snapshot, query: BoundQuery) -> None:
    if is_streamed(query.match):
        await snapshot.aggregate(stages_of_all(query))
    else:
        snapshot.find(whole_filter(query.match), dict.fromkeys(query.fields, 1), dict(query.sort))


async def _documents(
    snapshot: Snapshot, batch: Iterator[Mapping[str, Any]] | None, show: Callable[[dict[str, Any]], None]
) -> AsyncIterator[StoredDocument]:
    """The URLs of their files are bare, for a signature would have expired when the file is read."""
    while batch is not None:
        for row in batch:
            show(row["data"])
            yield read_document(row)
        batch = await snapshot.next_batch()
