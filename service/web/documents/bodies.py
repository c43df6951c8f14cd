"""Bodies and answers of the endpoints of documents: specification section 2.3."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.bounds import MAX_ERROR_GROUPS, MAX_LINE_ERRORS
from service.domain.documents.documents import Page
from service.domain.documents.import_trials import ImportReport
from service.domain.documents.writes import NO_CONDITIONS, HiddenDocument, OnConflict, Written
from service.errors import Invalid, Violation
from service.query.nodes import Where as Conditions
from service.query.where import read_filter
from service.schema.operations import OPERATORS, ORDER, read_operations
from service.storage.documents import SetFields
from service.storage.documents import StoredDocument as StoredDocument
from service.web.http.json_body import validated
from service.web.http.list_body import Where
from service.web.http.violations import Refusals
from service.web.openapi.failures import BrokenRule
from service.web.openapi.lists import Counts, Next, TotalIs, describe_page
from service.web.openapi.shapes import Data, FormParts, Id, Limit, Offset, ShownAs, Time, Total, Version, WholeNumber


class DocumentForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    data: Annotated[dict[str, Any], ShownAs(Data)]


class DocumentFiles(FormParts):
    """`data` is the JSON of the document's `data`, or of the fields to set; every other part is a file for the field of its
    name, which the schema declares as one. Several parts of one name are for an array of files: they follow the URLs that
    `data` keeps there.
    """

    data: Annotated[dict[str, Any], ShownAs(Data)] = Field(default_factory=dict)


ON_CONFLICT = [each.value for each in OnConflict]
Numbers = Annotated[dict[str, Annotated[Any, ShownAs(float)]], Field(description="Field → number")]
Values = Annotated[
    dict[str, Any], Field(description='Field → a value, or `{"each": [...]}` of several. In arrays that are the fields')
]


class DocumentChange(BaseModel):
    """What changes in a document. Fields inside objects are named with dots; each field is changed once."""

    model_config = ConfigDict(strict=True, extra="forbid")

    data: Annotated[dict[str, Any], ShownAs(Data)] = Field(default_factory=dict)
    where: Where = Field(default_factory=dict)
    increment: Numbers = Field(default_factory=dict)
    multiply: Numbers = Field(default_factory=dict)
    min: Numbers = Field(default_factory=dict)
    max: Numbers = Field(default_factory=dict)
    push: Values = Field(default_factory=dict)
    add: Values = Field(default_factory=dict)
    pull: Values = Field(default_factory=dict)
    unset: Annotated[list[str], Field(description="Names of fields, which go, or have their default again")] = Field(
        default_factory=list
    )

    @property
    def operators(self) -> dict[str, Any]:
        """The operators that change a field."""
        return {name: sent for name in ORDER if (sent := getattr(self, name))}


Expected = Annotated[
    int | None,
    Field(ge=0, description="How many documents there are, as `dry_run` said; not needed there, nor with a cursor"),
]


class BulkUpdateForm(DocumentChange):
    """What changes in all documents that `where` finds, which are all of them where it is empty."""

    where: Where
    expect: Expected = None


class BulkDeleteForm(BaseModel):
    """All documents that `where` finds, which are all of them where it is empty."""

    model_config = ConfigDict(strict=True, extra="forbid")

    where: Where
    expect: Expected = None


@dataclass(frozen=True, slots=True)
class SentChange:
    """A change, and the conditions under which it is one."""

    change: SetFields
    where: Conditions = NO_CONDITIONS


def read_change(sent: dict[str, Any]) -> SentChange:
    """The change that a body spells. Raises Invalid, also for one that changes nothing."""
    if not sent.keys() & {*OPERATORS, "where"}:
        return SentChange(SetFields(validated(DocumentForm, sent).data))
    form = validated(DocumentChange, sent)
    return SentChange(read_fields(form), read_filter(form.where, ("body", "where")))


def read_fields(form: DocumentChange) -> SetFields:
    """The changes of a form. Raises Invalid, also without any change."""
    if not form.operators and "data" not in form.model_fields_set:
        raise Invalid.one(("body", "data"), "Field required", type_="missing")
    operations, violations = read_operations(form.operators, form.data)
    if violations:
        raise Invalid(violations)
    return SetFields(form.data, operations)


def read_upsert(pairs: Iterable[tuple[str, str]]) -> tuple[str, OnConflict]:
    """The unique field, and what becomes of a document that is there, of a query string. Raises Invalid."""
    sent = dict(pairs)
    violations = [
        Violation(("query", name), "This endpoint takes only by and on_conflict", "extra_forbidden")
        for name in sent
        if name not in {"by", "on_conflict"}
    ]
    if "by" not in sent:
        violations.append(Violation(("query", "by"), "Field required", "missing"))
    on_conflict = sent.get("on_conflict", OnConflict.REPLACE.value)
    if on_conflict not in ON_CONFLICT:
        violations.append(Violation(("query", "on_conflict"), f"Must be one of {', '.join(ON_CONFLICT)}", "enum"))
    if violations:
        raise Invalid(violations)
    return sent["by"], OnConflict(on_conflict)


class Document(TypedDict):
    id: Id
    data: Data
    created_at: Time
    updated_at: Time
    version: Version
    counts: NotRequired[Counts]


class WrittenDocument(TypedDict):
    """A document after a write; its `id` alone where rules do not let its writer read it."""

    id: Id
    data: NotRequired[Data]
    created_at: NotRequired[Time]
    updated_at: NotRequired[Time]
    version: NotRequired[Version]


class DocumentList(TypedDict):
    documents: list[Document]
    total: Total
    total_is: NotRequired[TotalIs]
    limit: Limit
    offset: NotRequired[Offset]
    next: NotRequired[Next]


class BulkAnswer(TypedDict):
    """With `dry_run` a sample, else what was changed."""

    matched: Annotated[int, Field(ge=0, description="How many documents there were when the call began")]
    sample: NotRequired[Annotated[list[Id], Field(max_length=10, description="The ids of the first")]]
    changed: NotRequired[WholeNumber]
    next: NotRequired[Annotated[str | None, Field(description="The `cursor` that goes on, null at the end")]]


class LineRefusal(TypedDict):
    line: Annotated[int, Field(ge=1, description="The first line of the row; blank lines count")]
    errors: list[BrokenRule]


class ErrorGroup(TypedDict):
    """An error of many rows, as the first of them has it."""

    count: Annotated[int, Field(ge=1, description="How many rows have an error of this type at this place")]
    line: Annotated[int, Field(ge=1, description="The first of them")]
    error: BrokenRule


class ImportResult(TypedDict):
    created: WholeNumber
    updated: WholeNumber
    refused: WholeNumber
    errors: Annotated[list[LineRefusal], Field(max_length=MAX_LINE_ERRORS, description="The first refused rows")]
    groups: Annotated[
        list[ErrorGroup], Field(max_length=MAX_ERROR_GROUPS, description="The errors of all refused rows by their kind")
    ]


def document_view(document: StoredDocument) -> Document:
    view: Document = {
        "id": document.id,
        "data": document.data,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "version": document.version,
    }
    if document.counts is not None:
        view["counts"] = dict(document.counts)
    return view


def written_view(written: Written) -> Document | WrittenDocument:
    return {"id": written.id} if isinstance(written, HiddenDocument) else document_view(written)


def reference_view(written: Written) -> WrittenDocument:
    """The part of a written document by which a replay finds it again; a hidden one has no version."""
    return {"id": written.id} if isinstance(written, HiddenDocument) else {"id": written.id, "version": written.version}


def written_version(written: Written) -> int | None:
    return None if isinstance(written, HiddenDocument) else written.version


def list_view(page: Page) -> DocumentList:
    documents = [document_view(document) for document in page.documents]
    return {"documents": documents, **describe_page(page.listing)}


def import_view(report: ImportReport) -> ImportResult:
    refusals = Refusals()
    errors: list[LineRefusal] = [
        {"line": each.line, "errors": refusals.list(Invalid(each.violations))["detail"]} for each in report.errors
    ]
    return {
        "created": report.created,
        "updated": report.updated,
        "refused": report.refused,
        # First, for people who read the beginning of a long answer.
        "groups": _group_views(report),
        "errors": errors,
    }


def _group_views(report: ImportReport) -> list[ErrorGroup]:
    refusals, groups = Refusals(), report.groups
    shown = refusals.list(Invalid([group.violation for group in groups]))["detail"] if groups else []
    return [
        {"count": group.count, "line": group.line, "error": error} for group, error in zip(groups, shown, strict=False)
    ]
