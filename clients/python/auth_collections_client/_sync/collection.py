# Written by clients/python/unasync from _async: change that.
"""One collection: its reads, and every call that writes its documents."""

from collections.abc import Iterator
from typing import Any, Generic, Literal, Unpack, overload

from auth_collections_client._generics import MISSING, D, N, W
from auth_collections_client._sync.bulk import run_many
from auth_collections_client._sync.reading import Reading
from auth_collections_client._sync.seam import Rows
from auth_collections_client._sync.streams import export_rows, import_rows
from auth_collections_client.calls import Call, Options, if_match, split_options
from auth_collections_client.results import Document
from auth_collections_client.rows import Format, ImportSettings
from auth_collections_client.writes import Fields, Operators, Progress, Version, change, documents_path, dump, write

OnConflict = Literal["replace", "merge", "ignore"]
condition = if_match


class Collection(Reading[D, W], Generic[D, N, W]):
    """Reads and writes documents of one collection."""

    def create(self, data: N, *, on_progress: Progress | None = None, **options: Unpack[Options]) -> Document[D]:
        path = documents_path(self.name)
        call = write("POST", path, dump(data), repeat="keyed", on_progress=on_progress, options=options)
        return self._sent(call)

    def replace(
        self,
        id: str,
        data: N,
        *,
        if_match: Version = None,
        on_progress: Progress | None = None,
        **options: Unpack[Options],
    ) -> Document[D]:
        """Replaces the data of a document. With `if_match` it is sent once: a second try could not tell its own 412."""
        call = write(
            "PUT",
            documents_path(self.name, id),
            dump(data),
            repeat="safe" if if_match is None else "once",
            headers=condition(if_match),
            on_progress=on_progress,
            options=options,
        )
        return self._sent(call)

    def update(
        self,
        id: str,
        data: Fields | None = None,
        *,
        where: W = MISSING,
        if_match: Version = None,
        on_progress: Progress | None = None,
        **operators: Unpack[Operators],
    ) -> Document[D]:
        """Changes fields by `data` and operators, in one step; `where` is a condition on the document."""
        options, parts = split_options(operators)
        body = {"data": data, "where": where, **parts}
        return self._sent(change(documents_path(self.name, id), body, if_match, options, on_progress))

    def upsert(
        self,
        data: N,
        *,
        by: str,
        on_conflict: OnConflict | None = None,
        on_progress: Progress | None = None,
        **options: Unpack[Options],
    ) -> Document[D]:
        """Creates a document, or changes the one with the same value of the unique field `by`."""
        call = write(
            "PUT",
            documents_path(self.name),
            dump(data),
            repeat="safe",
            query={"by": by, "on_conflict": on_conflict},
            on_progress=on_progress,
            options=options,
        )
        return self._sent(call)

    def delete(self, id: str, *, if_match: Version = None, **options: Unpack[Options]) -> None:
        path, headers = documents_path(self.name, id), condition(if_match)
        self._transport.send(Call("DELETE", path, repeat="safe", headers=headers, options=options))

    def update_many(
        self,
        *,
        where: W,
        data: Fields | None = None,
        expect: int | None = None,
        dry_run: bool = False,
        **operators: Unpack[Operators],
    ) -> dict[str, Any]:
        """Changes all documents that `where` finds, in as many calls as it takes. Takes the secret key."""
        options, parts = split_options(operators)
        body = {"where": where, "expect": expect, "data": data, **parts}
        return run_many(self._transport, f"{self._path}/update", body, options, dry_run=dry_run)

    def delete_many(
        self, *, where: W, expect: int | None = None, dry_run: bool = False, **options: Unpack[Options]
    ) -> dict[str, Any]:
        """Deletes all documents that `where` finds. Takes the secret key."""
        body = {"where": where, "expect": expect}
        return run_many(self._transport, f"{self._path}/delete", body, options, dry_run=dry_run)

    @overload
    def import_rows(self, rows: Rows[N], **settings: Unpack[ImportSettings]) -> dict[str, Any]: ...

    @overload
    def import_rows(
        self, rows: str | bytes | Rows[bytes], *, format: Format, **settings: Unpack[ImportSettings]
    ) -> dict[str, Any]: ...

    def import_rows(
        self, rows: Any, *, format: Format | None = None, **settings: Unpack[ImportSettings]
    ) -> dict[str, Any]:
        """Stores rows, or text and bytes of a named format, as a stream. Takes the secret key."""
        options, query = split_options(settings)
        return import_rows(self._transport, self._path, rows, format, query, options)

    def export_rows(
        self,
        *,
        where: W = MISSING,
        format: Format = "ndjson",
        **options: Unpack[Options],
    ) -> Iterator[bytes]:
        """Yields the bytes of all documents that `where` finds. Takes the secret key."""
        return export_rows(self._transport, self._path, where, format, options)
