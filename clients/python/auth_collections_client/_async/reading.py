"""The reads of a collection."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Generic, Unpack

from auth_collections_client._async.lists import fetch, fetch_all, fetch_count
from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client._generics import MISSING, D, W
from auth_collections_client.calls import Call, Options, ask, present, read, split_options
from auth_collections_client.errors import NotFoundError
from auth_collections_client.queries import Count, Limited, Names, Paged, Shown, Sorted, condition_text, query_body
from auth_collections_client.results import Document, Page, page_parts, read_document
from auth_collections_client.writes import Fields, collection_path, documents_path


class AsyncReading(Generic[D, W]):
    """Reads documents of one collection; a `model` of pydantic is made of each row."""

    def __init__(self, transport: AsyncTransport, name: str, model: Any = None) -> None:
        self.name = name
        self._transport = transport
        self._path = collection_path(name)
        self._read_data: Callable[[Any], Any] = (lambda data: data) if model is None else model.model_validate

    async def list(self, *, where: W = MISSING, **query: Unpack[Paged]) -> Page[Document[D]]:
        """Returns one page."""
        options, parts = split_options(query)
        answer = await fetch(self._transport, self._query_path, where, parts, options)
        return Page([self._document(each) for each in answer["documents"]], **page_parts(answer))

    async def each(self, *, where: W = MISSING, **query: Unpack[Limited]) -> AsyncIterator[Document[D]]:
        """Yields all documents, in pages by cursor; `limit` bounds their number."""
        options, parts = split_options(query)
        async for found in fetch_all(self._transport, self._query_path, "documents", where, parts, options):
            yield self._document(found)

    async def first(self, *, where: W = MISSING, **query: Unpack[Sorted]) -> Document[D] | None:
        """Returns the first document, or None where `where` finds none."""
        return await self._first(where, *split_options(query))

    async def count(self, *, where: W = MISSING, count: Count = "exact", **options: Unpack[Options]) -> int:
        return await fetch_count(self._transport, self._query_path, where, count, options)

    async def get(self, id: str, **shown: Unpack[Shown]) -> Document[D]:
        """Returns one document. Raises NotFoundError."""
        options, parts = split_options(shown)
        if not parts:
            return await self._sent(read(documents_path(self.name, id), options=options))
        found = await self._first({"id_eq": id}, options, parts)
        if found is None:
            raise NotFoundError("Document not found", status=404, code="document_not_found")
        return found

    async def distinct(self, field: str, *, where: W = MISSING, **options: Unpack[Options]) -> dict[str, Any]:
        """Returns `{"values": [...], "truncated": bool}`. Takes the secret key."""
        query = {"field": field, "where": condition_text(where)}
        return await self._json(read(f"{self._path}/distinct", query, options=options))

    async def aggregate(
        self,
        *,
        where: W = MISSING,
        group: Fields | None = None,
        values: Fields | None = None,
        having: Fields | None = None,
        sort_by: Names = None,
        limit: int | None = None,
        **options: Unpack[Options],
    ) -> dict[str, Any]:
        """Returns `{"rows": [...], "limit": int}`. Takes the secret key."""
        parts = present({"group": group, "values": values, "having": having, "sort_by": sort_by, "limit": limit})
        body = query_body(where, parts)
        return await self._json(ask(f"{self._path}/aggregate", body, options=options))

    @property
    def _query_path(self) -> str:
        return f"{self._path}/query"

    async def _first(self, where: Any, options: Options, parts: Fields) -> Document[D] | None:
        query = {**parts, "limit": 1, "count": "none"}
        answer = await fetch(self._transport, self._query_path, where, query, options)
        return next(map(self._document, answer["documents"]), None)

    def _document(self, answer: Mapping[str, Any]) -> Document[D]:
        return read_document(answer, self._read_data)

    async def _sent(self, call: Call) -> Document[D]:
        return self._document((await self._transport.send(call)).body)

    async def _json(self, call: Call) -> dict[str, Any]:
        answer: dict[str, Any] = (await self._transport.send(call)).body
        return answer
