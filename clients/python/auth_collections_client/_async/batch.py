"""A batch: calls are gathered in a block and sent at its end."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, Self, Unpack, overload

from auth_collections_client._async.transport import AsyncTransport
from auth_collections_client._generics import D2, MISSING, N2, W2, N, W
from auth_collections_client.calls import Options, post, present, split_options
from auth_collections_client.encoding import Placeholder
from auth_collections_client.errors import ConfigurationError
from auth_collections_client.forms import split_files
from auth_collections_client.values import CollectionRef
from auth_collections_client.writes import Fields, Operators, change_body, dump


class AsyncBatch:
    """Operations that are sent together when the block ends; an exception inside it sends nothing.

    `results` has the service's result of each operation, in their order, after the block.
    """

    def __init__(self, transport: AsyncTransport, *, is_atomic: bool, options: Options) -> None:
        self._transport = transport
        self._is_atomic = is_atomic
        self._options = options
        self._operations: list[dict[str, Any]] = []
        self._results: list[dict[str, Any]] | None = None

    @property
    def results(self) -> list[dict[str, Any]]:
        if self._results is None:
            raise ConfigurationError("The results of a batch are there after its block.")
        return self._results

    @overload
    def collection(self, ref: CollectionRef[D2, N2, W2]) -> "BatchCollection[N2, W2]": ...

    @overload
    def collection(self, ref: str) -> "BatchCollection[dict[str, Any], dict[str, Any]]": ...

    def collection(self, ref: Any) -> "BatchCollection[Any, Any]":
        return BatchCollection(self, ref if isinstance(ref, str) else ref.name)

    def next_name(self) -> str:
        """Returns a name that no operation of this batch has yet."""
        return f"o{len(self._operations)}"

    def add(self, operation: Mapping[str, Any]) -> int:
        """Appends an operation and returns its position."""
        if self._results is not None:
            raise ConfigurationError("The batch was sent.")
        self._operations.append(present(operation))
        return len(self._operations) - 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self._send()

    async def _send(self) -> None:
        if not self._operations:
            self._results = []
            return
        body = {"atomic": self._is_atomic, "operations": self._operations}
        repeat = "keyed" if self._is_atomic else "once"
        call = post("/api/batch", body, repeat=repeat, batch=self, options=self._options)
        self._results = (await self._transport.send(call)).body["results"]


class BatchCollection(Generic[N, W]):
    """The operations of a batch on one collection."""

    def __init__(self, batch: AsyncBatch, name: str) -> None:
        self._batch = batch
        self._name = name

    def create(self, data: N) -> str:
        """Returns the id that later operations of this batch may use."""
        name = self._batch.next_name()
        self._add("create", {"as": name, "data": _without_files(data)})
        return Placeholder.of(name, self._batch)

    def update(
        self,
        id: str,
        data: Fields | None = None,
        *,
        where: W = MISSING,
        if_match: int | None = None,
        **operators: Unpack[Operators],
    ) -> None:
        options, parts = split_options(operators)
        if options:
            raise ConfigurationError("Options are of the batch as a whole.")
        body = change_body({"data": data, "where": where, **parts})
        self._add("update", {"id": id, "if_match": if_match, **body})

    def replace(self, id: str, data: N, *, if_match: int | None = None) -> None:
        self._add("replace", {"id": id, "data": _without_files(data), "if_match": if_match})

    def upsert(self, data: N, *, by: str, on_conflict: str | None = None) -> None:
        self._add("upsert", {"data": _without_files(data), "by": by, "on_conflict": on_conflict})

    def delete(self, id: str, *, if_match: int | None = None) -> None:
        self._add("delete", {"id": id, "if_match": if_match})

    def get(self, id: str) -> None:
        self._add("get", {"id": id})

    def _add(self, op: str, parts: Mapping[str, Any]) -> None:
        self._batch.add({"op": op, "collection": self._name, **parts})


def _without_files(data: Any) -> Fields:
    fields = dump(data)
    if split_files(fields)[1]:
        raise ConfigurationError("A batch is JSON: files are sent by calls of their own.")
    return fields
