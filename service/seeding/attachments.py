"""Files of a seed's documents: in a row, the field of a file has its path beside the manifest. They go the way of an upload."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiofiles

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.documents import Documents
from service.domain.documents.reader import Engine
from service.domain.files.files import Files, Submission
from service.domain.files.intake import DataPart, DocumentFields, FilePart, FormParts
from service.domain.projects.lookup import Project
from service.errors import ConfigurationError, FileNotFound
from service.schema.fields import Fields
from service.schema.values import Kind
from service.storage.documents import SetFields
from service.storage.ids import new_id

# The paths of each field's files, as the row gives them.
FilePaths = Mapping[str, Sequence[str]]
PIECE_BYTES = 1024 * 1024


async def read_pieces(path: Path) -> AsyncIterator[bytes]:
    async with aiofiles.open(path, "rb") as file:
        while piece := await file.read(PIECE_BYTES):
            yield piece


async def digest_of(pieces: AsyncIterator[bytes]) -> str:
    digest = hashlib.sha256()
    async for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


async def has_bytes(files: Files, name: str, digest: str) -> bool:
    """True if the stored file has the bytes of this digest; false if it is gone."""
    try:
        project, file = await files.find(name)
        return await digest_of(await files.read(project, file, 0, file.length)) == digest
    except FileNotFound:
        return False


def file_fields(fields: Fields) -> frozenset[str]:
    """The fields that take files, one or several."""
    return frozenset(name for name, field in fields.items() if (field.items or field).kind is Kind.FILE)


def take_paths(data: dict[str, Any], names: frozenset[str]) -> dict[str, list[str]]:
    """Takes the paths of files out of `data`. Null and an empty list name no file and stay. Raises ValueError."""
    paths: dict[str, list[str]] = {}
    for name in [name for name in names & data.keys() if data[name]]:
        sent = data.pop(name)
        paths[name] = sent if isinstance(sent, list) else [sent]
        if not all(isinstance(path, str) for path in paths[name]):
            raise ValueError(f"{name}: must be the path of a file, or a list of them")
    return paths


@dataclass(frozen=True, slots=True)
class Attachments:
    """Stores the files of documents. `folder` is the manifest's."""

    files: Files
    documents: Engine
    folder: Path

    async def find_changed(self, paths: FilePaths, data: Mapping[str, Any]) -> FilePaths:
        """The fields of `paths` whose files have other bytes than those that `data` names.

        Raises ConfigurationError.
        """
        return {field: each for field, each in paths.items() if not await self._are_same(each, data.get(field))}

    async def _are_same(self, paths: Sequence[str], stored: Any) -> bool:
        digests = [await self._digest(path) for path in paths]
        names = stored if isinstance(stored, list) else [stored]
        if len(names) != len(digests) or not all(isinstance(name, str) for name in names):
            return False
        return all([await has_bytes(self.files, *pair) for pair in zip(names, digests, strict=True)])

    async def _digest(self, path: str) -> str:
        try:
            return await digest_of(read_pieces(self.folder / path))
        except OSError as error:
            raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from None

    async def create(self, project: Project, collection: str, data: Mapping[str, Any], paths: FilePaths) -> None:
        """Raises what `Documents.create` and `Files.store_files` do."""
        async with self._store(project, collection, new_id(), data, paths) as sent:
            documents = Documents(self.documents.of_server(SecretKeyCaller(project), collection))
            await documents.create(sent.data, id_=sent.owner, upload=sent.upload)

    async def change(
        self, project: Project, collection: str, id_: str, data: Mapping[str, Any], paths: FilePaths
    ) -> None:
        """Sets the fields of `data` and of `paths`. Raises as `create`."""
        async with self._store(project, collection, id_, data, paths) as sent:
            documents = Documents(self.documents.of_server(SecretKeyCaller(project), collection))
            await documents.change(id_, SetFields(sent.data), upload=sent.upload)

    @asynccontextmanager
    async def _store(
        self, project: Project, collection: str, owner: str, data: Mapping[str, Any], paths: FilePaths
    ) -> AsyncIterator[Submission[None]]:
        async def form() -> FormParts:
            yield DataPart(dict(data))
            for field, each in paths.items():
                for path in each:
                    yield FilePart(field, Path(path).name, read_pieces(self.folder / path))

        async def check(_: dict[str, Any]) -> None:
            """The write judges them."""

        fields = DocumentFields(collection, (await self.documents.catalogs.get(project, collection)).fields)
        async with self.files.store_files(project, owner, form(), check, fields) as submission:
            yield submission
