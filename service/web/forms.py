"""Bodies that may be JSON or a form with files (specification section 4.1)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from service.domain.attachments import CheckFields
from service.domain.projects import Project
from service.domain.submissions import Submission
from service.errors import ServiceError, UnsupportedMedia
from service.web.body import read_object
from service.web.multipart import read_parts
from service.web.services import services

FORM = "multipart/form-data"


@asynccontextmanager
async def submitted(request: Request, project: Project, owner: str, check: CheckFields) -> AsyncIterator[Submission]:
    """What the request submits for the record `owner`. Files are removed again unless a record came to name them.

    `check` sees the fields before any byte behind them is read. Raises what it raises, UnsupportedMedia, TooLarge, Invalid.
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != FORM:
        fields = await read_object(request)
        yield Submission(owner, fields, {})
        return
    _require_plain(request)
    try:
        parts = read_parts(content_type, request.stream())
        async with services(request).files.received(project, owner, parts, check) as submission:
            yield submission
    except ServiceError as error:
        # What the client still sends is not read: the connection cannot carry another request.
        error.headers["connection"] = "close"
        raise


def _require_plain(request: Request) -> None:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without Content-Encoding")
