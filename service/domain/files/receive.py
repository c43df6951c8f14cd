"""The files of one request: each part judged as it streams into storage, by the first rule it breaks.

Knows nothing of HTTP, and nothing of what record the files are for beyond the id of its owner.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from service.bounds import MAX_FILE_BYTES, MAX_FILES
from service.domain.files.bad_content import BadContent
from service.domain.files.names import new_file_name
from service.domain.files.parts import DataPart, FilePart, FormParts
from service.domain.files.types import FILE_TYPES, Check, extension
from service.errors import Invalid, TooLarge, UnsupportedMedia, Violation
from service.schema.strict_json import shown
from service.schema.values import check_name
from service.storage.files.stored import FileMetadata
from service.storage.files.uploads import Upload

MAX_ORIGINAL_NAME = 255
DATA = "data"
# What a record has beside `data`; a file of such a name would hide in `data` what it means beside it.
RESERVED = frozenset({"id", "email", "password", "created_at", "updated_at", "oauth_id"})

# Judges the fields of the part `data`.
CheckFields = Callable[[dict[str, Any]], Awaitable[object]]


@dataclass(slots=True)
class Form:
    """What a request said: the fields of its JSON (None without any), and the new file's name for each file field."""

    fields: dict[str, Any] | None = None
    files: dict[str, str] = field(default_factory=dict)


async def receive(parts: FormParts, upload: Upload, check: CheckFields, *, project_id: str, owner: str) -> Form:
    """Streams every file of `parts` into `upload`, in any order with `data`. Nothing is published.

    Raises at the first rule broken, and then asks for no further byte: Invalid, UnsupportedMedia, TooLarge, and what
    `check` raises of the fields of `data`, as soon as they are there.
    """
    form = Form()
    async for part in parts:
        if isinstance(part, DataPart):
            _take_data(form, part)
            await check(part.fields)
        else:
            _check_field(form, part)
            form.files[part.field] = await _store(part, upload, project_id=project_id, owner=owner)
    return form


def _take_data(form: Form, part: DataPart) -> None:
    if form.fields is not None:
        raise Invalid.one(("body", DATA), "The part data must stand once")
    if both := next((name for name in form.files if name in part.fields), None):
        raise _twice(both)
    form.fields = part.fields


def _check_field(form: Form, part: FilePart) -> None:
    if violation := next(_field_violations(part.field), None):
        raise Invalid([violation])
    if part.field in form.files or part.field in (form.fields or {}):
        raise _twice(part.field)
    if len(form.files) == MAX_FILES:
        raise Invalid.one(("body", part.field), f"A request may carry {MAX_FILES} files", type_="too_many_files")


def _field_violations(name: str) -> Iterator[Violation]:
    loc = ("body", shown(name)[1:-1])
    if name in RESERVED:
        yield Violation(loc, f"{name} cannot be a file", "reserved")
    elif problem := check_name(name):
        yield Violation(loc, problem, "field_name")


def _twice(name: str) -> Invalid:
    return Invalid.one(("body", name), "A field must stand once in a form")


async def _store(part: FilePart, upload: Upload, *, project_id: str, owner: str) -> str:
    """The name the file got."""
    kind = extension(part.file_name)
    if kind not in FILE_TYPES:
        allowed = ", ".join(FILE_TYPES)
        raise UnsupportedMedia(f"The file of {shown(part.field)} must be one of: {allowed}")
    name = new_file_name(project_id, kind)
    metadata = FileMetadata(name, owner, part.field, part.file_name[-MAX_ORIGINAL_NAME:])
    await upload.write(metadata, _judged(part, FILE_TYPES[kind].check()))
    return name


async def _judged(part: FilePart, check: Check) -> AsyncIterator[bytes]:
    """The bytes of `part`, for as long as they keep to the rules."""
    length = 0
    try:
        async for piece in part.content:
            length += len(piece)
            if length > MAX_FILE_BYTES:
                raise TooLarge(f"The file of {shown(part.field)} has more than {MAX_FILE_BYTES} bytes")
            check.feed(piece)
            yield piece
        if not length:
            raise Invalid.one(("body", part.field), "The file is empty", type_="empty_file")
        check.finish()
    except BadContent as error:
        raise UnsupportedMedia(f"The file of {shown(part.field)} is refused: {error}") from None
