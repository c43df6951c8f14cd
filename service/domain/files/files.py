"""The files of records: received part by part, judged by the first rule they break, stored for a record; and read back.

Knows nothing of HTTP, and nothing of what record the files are for beyond the id of its owner. A file is named
`<project id>-<128 random bits>.<extension>`, never the same twice.
"""

import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from service.bounds import MAX_FILES, MAX_UPLOADS
from service.domain.files.content_checks import BadContent
from service.domain.files.intake import USER_FIELDS, DataPart, FileFields, FilePart, FileRule, FormParts
from service.domain.files.protection import FileProtection
from service.domain.files.signed_urls import FileLink
from service.domain.files.types import FILE_TYPES, Check, extension
from service.domain.projects.lookup import Project, Projects
from service.domain.shares import Shares
from service.errors import FileNotFound, Invalid, ProjectNotFound, TooLarge, UnsupportedMedia
from service.schema.strict_json import shown
from service.storage.files.stored import FileDamaged, FileMetadata, StoredFile, find_file, read_range
from service.storage.files.uploads import Upload

Checked = TypeVar("Checked")
# Judges the fields of the part `data`, and makes of them what the record is written by.
CheckFields = Callable[[dict[str, Any]], Awaitable[Checked]]

MAX_ORIGINAL_NAME = 255
RANDOM_BYTES = 16
# Project ids may hold hyphens; the random part never does, so the last hyphen is where it begins.
_NAME = re.compile(rf"([a-z0-9-]{{1,40}})-[0-9a-f]{{{2 * RANDOM_BYTES}}}\.(?:{'|'.join(FILE_TYPES)})")
DATA = "data"


@dataclass(frozen=True, slots=True)
class Submission(Generic[Checked]):
    """The fields of a request and the result of their check, None if a form had no `data`; and its files' URLs, by
    field.

    For a field of several files, the URLs are a list, behind the ones that `data` keeps. `owner` is the id of the
    record that is submitted, also of one that is only about to be made.
    """

    owner: str
    fields: Mapping[str, Any] | None
    urls: Mapping[str, str | list[str]]
    checked: Checked | None = None
    upload: Upload | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The fields with the URLs of the new files."""
        return {**(self.fields or {}), **self.urls}


@dataclass(slots=True)
class _Form:
    """The contents of a form: the fields of its JSON (None without any), and the new files' URLs for each file field."""

    fields: dict[str, Any] | None = None
    urls: dict[str, str | list[str]] = field(default_factory=dict)
    files: int = 0


class Files:
    """The files of all projects."""

    def __init__(self, projects: Projects, protection: FileProtection) -> None:
        self._projects = projects
        self.protection = protection
        self._uploads = Shares(MAX_UPLOADS)

    @asynccontextmanager
    async def store_files(
        self,
        project: Project,
        owner: str,
        parts: FormParts,
        check: CheckFields[Checked],
        fields: FileFields = USER_FIELDS,
    ) -> AsyncIterator[Submission[Checked]]:
        """The submission that a form makes: every file of `parts` stored, in any order with `data`, as `fields` take them.

        The files are gone again unless a record came to name them. Raises at the first rule broken, and then asks for no
        further byte: Busy, Invalid, UnsupportedMedia, TooLarge, and what `check` raises of the fields of `data`, as soon as
        they are there.
        """
        form, checked, prefix = _Form(), None, project.database.file_urls.prefix
        confirm = partial(self._projects.by_id, project.id)
        async with self._uploads.take(project.id), Upload(project.database, confirm) as upload:
            async for part in parts:
                if isinstance(part, DataPart):
                    _take_data(form, part)
                    checked = await check(part.fields)
                else:
                    rule = fields.rule(part.field)
                    _check_room(form, part, rule)
                    label = _label(part, rule, project_id=project.id, owner=owner, collection=fields.collection)
                    await upload.write(label, _judge(part, FILE_TYPES[extension(label.name)].check(), rule))
                    _add_url(form, part.field, prefix + label.name, rule)
            yield Submission(owner, form.fields, _keep_listed(form), checked, upload)

    async def find_project(self, name: str) -> Project:
        """The project that a file of that name belongs to, where there is such a file. Raises FileNotFound."""
        try:
            return await self._projects.by_id(_project_of(name) or "")
        except ProjectNotFound:
            raise FileNotFound from None

    async def find(self, name: str) -> tuple[Project, StoredFile]:
        """The file of that name, and the project it belongs to. Raises FileNotFound."""
        project = await self.find_project(name)
        return project, await find_file(project.database.database, name)

    async def find_readable(self, name: str, link: FileLink) -> tuple[StoredFile, int | None]:
        """The file of that name, and for how many seconds more `link` opens it; None where it is not protected.

        Raises FileNotFound also for a protected file that `link` does not open.
        """
        project, file = await self.find(name)
        return file, await self.protection.check(project, file, link)

    async def read(self, project: Project, file: StoredFile, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to, and without, `stop`, the first of them fetched already.

        Raises FileNotFound when the file is gone or damaged at the start, and FileDamaged while the bytes are read.
        """
        pieces = read_range(project.database.database, file, start, stop)
        try:
            first = await anext(pieces, b"")
        except FileDamaged:
            raise FileNotFound from None
        return _chained(first, pieces)


def _take_data(form: _Form, part: DataPart) -> None:
    if form.fields is not None:
        raise Invalid.one(("body", DATA), "The part data may occur only once")
    for name, sent in form.urls.items():
        if name in part.fields and not (isinstance(sent, list) and isinstance(part.fields[name], list)):
            raise _twice(name)
    form.fields = part.fields


def _check_room(form: _Form, part: FilePart, rule: FileRule) -> None:
    """Raises Invalid where the field has a file already, or the form too many."""
    name = part.field
    if not rule.several and name in form.urls:
        raise _twice(name)
    if name in (kept := form.fields or {}) and not (rule.several and isinstance(kept[name], list)):
        raise _twice(name)
    if form.files == MAX_FILES:
        raise Invalid.one(("body", name), f"A request may carry {MAX_FILES} files", type_="too_many_files")


def _label(part: FilePart, rule: FileRule, *, project_id: str, owner: str, collection: str) -> FileMetadata:
    """The metadata of the file, under a new name. Raises UnsupportedMedia."""
    kind = extension(part.file_name)
    if kind not in rule.types:
        raise UnsupportedMedia(f"The file of {shown(part.field)} must be one of: {', '.join(rule.types)}")
    name = f"{project_id}-{secrets.token_hex(RANDOM_BYTES)}.{kind}"
    return FileMetadata(name, owner, part.field, part.file_name[-MAX_ORIGINAL_NAME:], collection)


def _add_url(form: _Form, name: str, url: str, rule: FileRule) -> None:
    form.files += 1
    if not rule.several:
        form.urls[name] = url
    else:
        form.urls[name] = [*form.urls.get(name, ()), url]


def _keep_listed(form: _Form) -> dict[str, str | list[str]]:
    """The URLs of new files; in a list, behind those that `data` keeps there."""
    kept = form.fields or {}
    return {name: [*kept.get(name, ()), *sent] if isinstance(sent, list) else sent for name, sent in form.urls.items()}


def _twice(name: str) -> Invalid:
    return Invalid.one(("body", name), "A field may occur only once in a form")


async def _judge(part: FilePart, check: Check, rule: FileRule) -> AsyncIterator[bytes]:
    """The bytes of `part`, for as long as they keep to the rules."""
    length = 0
    try:
        async for piece in part.content:
            length += len(piece)
            if length > rule.max_bytes:
                raise TooLarge(f"The file of {shown(part.field)} has more than {rule.max_bytes} bytes")
            check.feed(piece)
            yield piece
        if not length:
            raise Invalid.one(("body", part.field), "The file is empty", type_="empty_file")
        check.finish()
    except BadContent as error:
        raise UnsupportedMedia(f"The file of {shown(part.field)} is refused: {error}") from None


def _project_of(name: str) -> str | None:
    """`demo-<32 hex digits>.png` → `demo`; None for what cannot be the name of a file of ours."""
    found = _NAME.fullmatch(name)
    return found.group(1) if found else None


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    async for piece in rest:
        yield piece
