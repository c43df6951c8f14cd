"""Bulk writes over HTTP: one change of all documents that conditions find, or their end."""

from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request

from service.bounds import MAX_BULK, MAX_CURSOR
from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.bulk import BulkResult, BulkWrite, Preview, preview_bulk, write_bulk
from service.domain.documents.writes import Change
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import (
    Busy,
    CollectionNotFound,
    CountChanged,
    DuplicateValue,
    Invalid,
    QueryTooSlow,
    Violation,
)
from service.query.cursor import BEGINNING, fingerprint, read_cursor
from service.query.nodes import Count, ListQuery, SortKey
from service.query.parse import parse_pairs
from service.query.where import read_filter
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.documents.bodies import BulkAnswer, BulkDeleteForm, BulkUpdateForm, read_fields
from service.web.documents.examples import EXAMPLE
from service.web.http.json_body import RequestWith, read_object, validated
from service.web.http.render import Json
from service.web.openapi.declaration import ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint

# Twice what a call takes on, and a chunk that began before.
ANSWER_SECONDS = 60.0
IN_ORDER_OF_IDS = (SortKey(("id",)),)
COUNT_CHANGED = ErrorExample(CountChanged, 121)

by_server = partial(
    endpoint,
    credential=Credential.API_KEY,
    policy=DAILY,
    tag=Tag.DOCUMENTS,
    description="By the secret key alone. Ask with `dry_run=true` first: the answer says how many documents there are, and "
    f"`expect` must say the same. A call changes at most {MAX_BULK:,}, in transactions of 1,000 each; `next` is then the "
    "`cursor` of the next call, with the same body.",
    parameters=(
        Parameter(name="dry_run", description="`true` only counts.", schema={"type": "boolean", "default": False}),
        Parameter(
            name="cursor",
            description="The `next` of the call before.",
            schema={"type": "string", "maxLength": MAX_CURSOR},
        ),
    ),
    answer=Success(
        "What was changed, or would be",
        {
            "done": {"matched": 120, "changed": 120, "next": None},
            "dry_run": {"matched": 120, "sample": [EXAMPLE["id"]]},
        },
    ),
    answer_seconds=ANSWER_SECONDS,
)


@by_server(
    "POST /api/collections/{name}/update",
    operator=Access("data", "write"),
    body={"a price": {"where": {"in_print_eq": False}, "unset": ["price"], "expect": 120}},
    errors=(CollectionNotFound, COUNT_CHANGED, ErrorExample(DuplicateValue, "data.title"), QueryTooSlow, Busy),
)
async def bulk_update_documents(
    request: RequestWith[BulkUpdateForm], caller: SecretKeyCaller, services: Services
) -> Json[BulkAnswer]:
    """Change all documents that conditions find."""
    sent = await read_object(request)
    form = validated(BulkUpdateForm, sent)
    return await _write(request, caller, services, sent, form, read_fields(form))


@by_server(
    "POST /api/collections/{name}/delete",
    operator=Access("data", "write"),
    body={"the old": {"where": {"in_print_eq": False}, "expect": 120}},
    errors=(CollectionNotFound, COUNT_CHANGED, QueryTooSlow, Busy),
)
async def bulk_delete_documents(
    request: RequestWith[BulkDeleteForm], caller: SecretKeyCaller, services: Services
) -> Json[BulkAnswer]:
    """Delete all documents that conditions find."""
    sent = await read_object(request)
    return await _write(request, caller, services, sent, validated(BulkDeleteForm, sent), None)


async def _write(
    request: Request,
    caller: SecretKeyCaller,
    services: Services,
    sent: dict[str, Any],
    form: BulkUpdateForm | BulkDeleteForm,
    change: Change | None,
) -> Json[BulkAnswer]:
    name, options = request.path_params["name"], _read_options(request)
    asked = fingerprint([name, change is None, {key: value for key, value in sent.items() if key != "expect"}])
    where = read_filter(form.where, ("body", "where"))
    query = ListQuery(where=where, sort=IN_ORDER_OF_IDS, count=Count.NONE)
    if (cursor := options.get("cursor")) is not None:
        query = replace(query, cursor=read_cursor(cursor, asked))
    write = BulkWrite(query, change, asked)
    if options.get("dry_run") == "true":
        return Json(_preview_view(await preview_bulk(services.documents, caller, name, write)))
    if form.expect is None and cursor is None:
        msg = "Say how many documents there are, as ?dry_run=true tells"
        raise Invalid.one(("body", "expect"), msg, type_="missing")
    result = await write_bulk(services.documents, caller, name, write, expect=form.expect or 0)
    return Json(_result_view(result))


def _read_options(request: Request) -> dict[str, str]:
    """Raises Invalid."""
    options = dict(parse_pairs(request.scope["query_string"]))
    violations = [
        Violation(("query", name), "This endpoint takes only dry_run and cursor", "extra_forbidden")
        for name in options
        if name not in {"dry_run", "cursor"}
    ]
    if options.get("cursor") == BEGINNING:
        # A later call does not repeat the number of documents.
        msg = "The first call has no cursor; those after it have the next of the one before"
        violations.append(Violation(("query", "cursor"), msg, "value_error"))
    if options.get("dry_run", "false") not in {"true", "false"}:
        violations.append(Violation(("query", "dry_run"), "Must be true or false", "bool_parsing"))
    if violations:
        raise Invalid(violations)
    return options


def _preview_view(preview: Preview) -> BulkAnswer:
    return {"matched": preview.matched, "sample": preview.sample}


def _result_view(result: BulkResult) -> BulkAnswer:
    return {"matched": result.matched, "changed": result.changed, "next": result.next}
