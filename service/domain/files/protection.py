"""Files that are read by signed URLs only, and their URLs in answers.

The rules in force decide if a file is protected; for a document's file the collection's definition, and the field it
was uploaded to. The time of the upload and the answer that shows it do not matter. A caller that sees a URL may read
the field it is in: the view of an answer leaves out fields that the caller may not read.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs, DeclaredCollection
from service.domain.files.signed_urls import FileLink, FilePlace, UrlSigner, place_of
from service.domain.lists import Lists
from service.domain.projects.lookup import Project
from service.errors import CollectionNotFound, FileNotFound
from service.query.populate import Row, ShowFiles, ShowRow
from service.query.shapes import USERS
from service.storage.collections import declared_name
from service.storage.files.stored import StoredFile, find_files


@dataclass(frozen=True, slots=True)
class FileProtection:
    """The protected files of all projects."""

    access: AccessControl
    catalogs: Catalogs
    lists: Lists
    signer: UrlSigner

    async def check(self, project: Project, file: StoredFile, link: FileLink) -> int | None:
        """For how many seconds more the link is good; None for a file that anybody may read. Raises FileNotFound."""
        if not await self._is_protected(project, file):
            return None
        left = self.signer.seconds_left(place_of(project.id, file), link)
        if not left:
            raise FileNotFound
        return left

    async def _is_protected(self, project: Project, file: StoredFile) -> bool:
        if not file.collection:
            return file.field in await self.access.protected_fields(project)
        try:
            field = (await self.catalogs.get(project, file.collection)).files.get(file.field)
        except CollectionNotFound:
            raise FileNotFound from None
        # A file of a field that was removed belongs to no field.
        return field is None or field.protected

    async def sign_user(self, project: Project, user_id: str, data: dict[str, Any]) -> bool:
        """Signs the URLs in a user's `data`, in place; whether there were any. For users who have files."""
        return self._sign_user(project, user_id, data, await self.access.protected_fields(project))

    def show_document(self, project: Project, collection: DeclaredCollection, id_: str, data: dict[str, Any]) -> bool:
        """Puts URLs where a document's `data` has the names of files, in place; whether any is signed."""
        urls, is_signed = project.database.file_urls, False
        urls.show_fields(data, (name for name, field in collection.files.items() if not field.protected))
        for field in (name for name, each in collection.files.items() if each.protected and name in data):

            def sign(name: str, field: str = field) -> str:
                return self._url(project, FilePlace(project.id, name, id_, field, collection.name))

            data[field] = _each(data[field], sign)
            is_signed = is_signed or bool(data[field])
        return is_signed

    def show_document_again(
        self, project: Project, collection: DeclaredCollection, id_: str, data: dict[str, Any]
    ) -> None:
        """Puts URLs that are good now where `data` has those of an earlier answer, in place."""
        read = project.database.file_urls.name
        for field in collection.files.keys() & data.keys():
            data[field] = _each(data[field], lambda url: read(url) or url)
        self.show_document(project, collection, id_, data)

    async def show(self, project: Project, collections: Iterable[str]) -> ShowFiles:
        """Returns a function that puts the URLs of files into rows of these MongoDB collections."""
        names = set(collections)
        users = await self.access.protected_fields(project) if USERS.collection in names else frozenset[str]()
        found = {name: await self.catalogs.find(project, declared_name(name)) for name in names - {USERS.collection}}

        def show_rows_of(collection: str) -> ShowRow | None:
            declared = found.get(collection)
            if declared is not None and declared.files:
                return partial(self._show_row, project, declared)
            if collection != USERS.collection:
                return None
            return partial(self._show_user, project, users) if users else project.database.file_urls.show

        return show_rows_of

    def _show_row(self, project: Project, collection: DeclaredCollection, row: Row) -> None:
        self.show_document(project, collection, row["_id"], row["data"])

    def _show_user(self, project: Project, fields: frozenset[str], row: Row) -> None:
        has_files = "files" in row
        project.database.file_urls.show(row)
        if has_files:
            self._sign_user(project, row["_id"], row["data"], fields)

    async def show_values(self, project: Project, values: Iterable[Any]) -> list[Any]:
        """The values of a field of files, or of arrays of them, with URLs in the place of names."""
        found = list(values)
        names = {name for value in found for name in _texts(value)}
        urls = await self._show_names(project, names) if names else {}
        return [_each(value, urls.__getitem__) for value in found]

    async def _show_names(self, project: Project, names: Collection[str]) -> dict[str, str]:
        """Name of a document's file → its URL, signed where it is protected."""
        prefix, files = project.database.file_urls.prefix, await find_files(project.database.database, names)
        signed = {name: self._url(project, place_of(project.id, file)) for name, file in files.items()
                  if await self._is_protected(project, file)}  # fmt: skip
        return {name: signed.get(name, prefix + name) for name in names}

    def sign_each(self, project: Project, files: Mapping[str, StoredFile], seconds: int) -> dict[str, str]:
        """URL as it was sent → a URL of its file, or of the variant that it names, that is good for so many seconds."""
        read = project.database.file_urls.name_and_variant
        return {
            url: self._url(project, place_of(project.id, file), seconds, read(url)[1]) for url, file in files.items()
        }

    def _url(self, project: Project, place: FilePlace, seconds: int | None = None, variant: str = "") -> str:
        return f"{project.database.file_urls.prefix}{place.name}{self.signer.sign(place, seconds, variant)}"

    async def has_variant(self, project: Project, file: StoredFile, variant: str) -> bool:
        """True if the file has such a variant; the variant without a name is the file itself."""
        if not variant or not file.collection:
            return not variant
        collection = await self.catalogs.find(project, file.collection)
        field = collection.files.get(file.field) if collection is not None else None
        return field is not None and variant in (field.variants or {})

    def _sign_user(self, project: Project, user_id: str, data: dict[str, Any], fields: frozenset[str]) -> bool:
        urls, signed = project.database.file_urls, False
        for field in fields & data.keys():
            name = urls.name(data[field]) if isinstance(data[field], str) else None
            if name is not None:
                data[field] = self._url(project, FilePlace(project.id, name, user_id, field))
                signed = True
        return signed


def _texts(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with every text in it, or itself, as `change` makes it."""
    if isinstance(value, list):
        return [_each(each, change) for each in value]
    return change(value) if isinstance(value, str) else value
