"""What a user submits: fields, and files that are stored but belong to no record yet. And reading files back."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.bounds import MAX_UPLOADS
from service.domain.files.names import project_of
from service.domain.files.parts import FormParts
from service.domain.files.protection import FileProtection
from service.domain.files.receive import CheckFields, receive
from service.domain.files.signed_urls import Link
from service.domain.projects.lookup import Project, Projects
from service.domain.shares import Shares
from service.errors import FileNotFound, Invalid, ProjectNotFound, ServiceError
from service.storage.files.stored import FileDamaged, StoredFile, find_file, read_range
from service.storage.files.uploads import Upload


@dataclass(frozen=True, slots=True)
class Submission:
    """The fields of a request, None where a form had no `data`, and the URLs of its files, by field.

    `owner` is the id of the user who submits, also of one that is only about to be made.
    """

    owner: str
    fields: Mapping[str, Any] | None
    urls: Mapping[str, str]
    upload: Upload | None = None

    def required_fields(self) -> Mapping[str, Any]:
        """Raises Invalid where there are none."""
        if self.fields is None:
            raise Invalid.one(("body", "data"), "Field required", type_="missing")
        return self.fields


class Files:
    """The files of all projects."""

    def __init__(self, projects: Projects, protection: FileProtection) -> None:
        self._projects = projects
        self._protection = protection
        self._uploads = Shares(MAX_UPLOADS)

    @asynccontextmanager
    async def store_files(
        self, project: Project, owner: str, parts: FormParts, check: CheckFields
    ) -> AsyncIterator[Submission]:
        """The submission that a form makes, its files stored. They are gone again unless a record came to name them.

        Raises as `receive`, and Busy.
        """
        upload = Upload(project.database, confirm=partial(self._projects.by_id, project.id))
        async with self._uploads.take(project.id), _aborting(upload):
            form = await receive(parts, upload, check, project_id=project.id, owner=owner)
            prefix = project.database.file_urls.prefix
            urls = {field: prefix + name for field, name in form.files.items()}
            yield Submission(owner, form.fields, urls, upload)

    async def find_project(self, name: str) -> Project:
        """The project that a file of that name belongs to, where there is such a file. Raises FileNotFound."""
        try:
            return await self._projects.by_id(project_of(name) or "")
        except ProjectNotFound:
            raise FileNotFound from None

    async def find(self, name: str) -> tuple[Project, StoredFile]:
        """The file of that name, and the project it belongs to. Raises FileNotFound."""
        project = await self.find_project(name)
        return project, await find_file(project.database.database, name)

    async def find_readable(self, name: str, link: Link) -> tuple[StoredFile, int | None]:
        """The file of that name, and for how many seconds more `link` opens it; None where it is not protected.

        Raises FileNotFound also for a protected file that `link` does not open.
        """
        project, file = await self.find(name)
        return file, await self._protection.check(project, file, link)

    async def read(self, project: Project, file: StoredFile, start: int, stop: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to, and without, `stop`, the first of them fetched already.

        Raises FileNotFound when the file is gone or damaged at the start, and FileDamaged while the bytes are read.
        """
        pieces = read_range(project.database.database, file, start, stop)
        try:
            first = await anext(pieces, b"")
        except FileDamaged:
            raise FileNotFound from None
        return _chained(first, pieces)


@asynccontextmanager
async def _aborting(upload: Upload) -> AsyncIterator[None]:
    """Afterwards nothing of the upload is left unless it was published."""
    try:
        yield
    finally:
        # What cannot be removed now, because the database is away, the next sweep removes.
        with suppress(ServiceError):
            await upload.abort()


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece
