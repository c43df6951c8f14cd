"""Documents that come as a form: their data in one part, and files in the others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request

from service.domain.access.caller import ProjectCaller
from service.domain.files.files import Submission
from service.domain.files.intake import DocumentFields
from service.errors import Invalid
from service.schema.values import check_data
from service.services import Services
from service.web.http.forms import read_submission
from service.web.http.idempotency import find_key, refuse_form


@asynccontextmanager
async def read_document_form(
    request: Request, caller: ProjectCaller, services: Services, owner: str
) -> AsyncIterator[Submission[None]]:
    """The contents of a form for the document `owner`; its files are removed again unless a document came to name them.

    Raises as `read_submission`, CollectionNotFound, and Invalid for an idempotency key.
    """
    if find_key(request) is not None:
        refuse_form(request)
    name = request.path_params["name"]
    fields = DocumentFields(name, (await services.documents.catalogs.get(caller.project, name)).fields)
    async with read_submission(request, services.files, caller.project, owner, _check, fields) as submission:
        yield submission


async def _check(fields: dict[str, Any]) -> None:
    """Before a byte behind the fields is read."""
    if violations := check_data(fields, ("body", "data")):
        raise Invalid(violations)
