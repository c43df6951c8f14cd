"""Bodies that are forms, or may be: JSON or a form with files (specification section 4.1), and fields without files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from urllib.parse import parse_qs

from starlette.requests import Request

from service.bounds import MAX_FORM_BYTES
from service.domain.files.files import Checked, CheckFields, Files, Submission
from service.domain.files.intake import USER_FIELDS, FileFields
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.errors import Invalid, TooLarge, UnsupportedMedia
from service.web.http.json_body import confirm_project, read_object
from service.web.http.multipart import read_parts
from service.web.http.render import leaving_the_rest


def read_media_type(request: Request, default: str = "") -> str:
    """The type of `Content-Type` in lower case, without its parameters; `default` without the header."""
    return request.headers.get("content-type", default).partition(";")[0].strip().lower()


FORM = "multipart/form-data"


@asynccontextmanager
async def read_submission(
    request: Request,
    files: Files,
    project: Project,
    owner: str,
    check: CheckFields[Checked],
    fields: FileFields = USER_FIELDS,
) -> AsyncIterator[Submission[Checked]]:
    """The contents of a request for the record `owner`. Files are removed again unless a record came to name them.

    `check` sees the fields once, before any byte behind them is read. Raises the errors of `check`, UnsupportedMedia,
    TooLarge, Invalid.
    """
    if not is_form(request):
        sent = await read_object(request)
        yield Submission(owner, sent, {}, await check(sent))
        return
    _require_plain(request)
    began = monotonic()
    with leaving_the_rest(request):
        parts = read_parts(request.headers["content-type"], request.stream())
        async with files.store_files(project, owner, parts, check, fields) as submission:
            if monotonic() - began > CACHE_SECONDS:
                await confirm_project(request)
            yield submission


def is_form(request: Request) -> bool:
    return read_media_type(request) == FORM


def _require_plain(request: Request) -> None:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without Content-Encoding")


URLENCODED = "application/x-www-form-urlencoded"
MAX_FIELDS = 10


async def read_urlencoded(request: Request) -> dict[str, str]:
    """The fields; of one that is there twice the last. Raises UnsupportedMedia, TooLarge, Invalid."""
    if read_media_type(request, URLENCODED) != URLENCODED:
        raise UnsupportedMedia(f"Send the form as Content-Type: {URLENCODED}")
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > MAX_FORM_BYTES:
            raise TooLarge(f"The body must have at most {MAX_FORM_BYTES} bytes")
    try:
        found = parse_qs(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid.one(("body",), "The form cannot be read") from None
    return {name: values[-1] for name, values in found.items()}
