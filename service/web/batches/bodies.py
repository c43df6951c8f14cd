"""Bodies and answers of a batch: operations as JSON → steps, and their results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.bounds import MAX_BATCH
from service.domain.batches.steps import Done, Kept, Step
from service.domain.documents.writes import Create, Delete, Get, OnConflict, Operation, Precondition, Update, Upsert
from service.errors import Invalid, ServiceError, Violation
from service.query.populate import Row
from service.schema.fields import USERS
from service.schema.operations import ORDER
from service.schema.steps import Steps
from service.schema.versions import Versions
from service.storage.documents import ReplaceData
from service.storage.ids import new_id
from service.web.batches.references import CreatedIds, resolve
from service.web.documents.bodies import (
    ON_CONFLICT,
    DocumentChange,
    DocumentForm,
    read_change,
    read_upsert,
    reference_view,
    written_view,
)
from service.web.http.json_body import validated
from service.web.http.violations import Refusals
from service.web.openapi.failures import Error
from service.web.openapi.shapes import Data, Id, ShownAs, Time, Version

CHANGE = ("data", "where", *ORDER)
# Operation → the keys that it must have, and those that it may.
KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "create": (("collection", "data"), ("as",)),
    "update": (("collection", "id"), ("if_match", *CHANGE)),
    "replace": (("collection", "id", "data"), ("if_match",)),
    "upsert": (("collection", "data", "by"), ("on_conflict",)),
    "delete": (("collection", "id"), ("if_match",)),
    "get": (("collection", "id"), ()),
}
OF_USERS = ("get", "update")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BatchOperation(DocumentChange):
    """One operation: which one, on which collection, and what it takes alone. `users` takes get and update."""

    op: Literal["create", "update", "replace", "upsert", "delete", "get"]
    collection: str
    as_: Annotated[
        str | None, Field(alias="as", description='Of create: a name for its id, which is `{"$id": "<name>"}` later on')
    ] = None
    id: Annotated[Any, ShownAs(str)] = ""
    if_match: Annotated[int, Field(ge=0, description="The version that is changed or deleted")] = 0
    by: Annotated[str, Field(description="Of upsert: a unique field")] = ""
    on_conflict: Annotated[str, Field(json_schema_extra={"enum": ON_CONFLICT})] = ON_CONFLICT[0]


class BatchForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    atomic: Annotated[bool, Field(description="All or nothing")] = True
    operations: Annotated[
        list[Annotated[dict[str, Any], ShownAs(BatchOperation)]], Field(min_length=1, max_length=MAX_BATCH)
    ]


class BatchDocument(TypedDict):
    """A document, or a user; its `id` alone where rules do not let its writer read it."""

    id: Id
    data: NotRequired[Data]
    email: NotRequired[str]
    created_at: NotRequired[Time]
    updated_at: NotRequired[Time]
    version: NotRequired[Version]


class BatchResult(TypedDict):
    status: Annotated[int, Field(description="What the operation would have been answered with alone")]
    document: NotRequired[BatchDocument]
    error: NotRequired[Error]


class BatchResults(TypedDict):
    """One result for each operation, in their order."""

    results: list[BatchResult]


@dataclass(frozen=True, slots=True)
class Batch:
    """The steps of a body, and whether they belong together."""

    steps: list[Step]
    is_atomic: bool

    @property
    def writes(self) -> bool:
        """True where a step is more than a read."""
        return not all(isinstance(step.operation, Get) for step in self.steps)

    @property
    def users(self) -> int:
        """The number of operations on users."""
        return sum(step.collection == USERS for step in self.steps)


def read_batch(sent: dict[str, Any]) -> Steps[Batch]:
    """The operations of a body, one in a step. Raises Invalid with all that is wrong with their form."""
    form = validated(BatchForm, sent)
    steps, violations, created = list[Step](), list[Violation](), CreatedIds()
    for position, operation in enumerate(form.operations):
        yield
        try:
            steps.append(_read_step(operation, created))
        except Invalid as invalid:
            violations += locate(invalid, position).violations
    if violations:
        raise Invalid(violations)
    return Batch(steps, form.atomic)


def locate(invalid: Invalid, position: int) -> Invalid:
    """The error of one operation, with its position in the batch."""
    found = [
        Violation(("body", "operations", position, *each.loc[1:]), each.msg, each.type) for each in invalid.violations
    ]
    located = Invalid(found, omitted=invalid.omitted)
    located.operation = invalid.operation
    return located


def _read_step(sent: dict[str, Any], created: CreatedIds) -> Step:
    _check_keys(sent)
    id_ = new_id()
    resolved, used = resolve(sent, created)
    if "as" in sent:
        created.name(_checked_name(sent["as"], created), id_)
    return Step(_text(resolved, "collection"), _read_operation(sent["op"], resolved, id_), used)


def _read_operation(op: str, sent: Mapping[str, Any], id_: str) -> Operation:
    """The operation; a new document gets the id. Raises Invalid."""
    match op:
        case "create":
            return Create(_data(sent), id=id_)
        case "replace":
            change = ReplaceData(_data(sent))
            return Update(_text(sent, "id"), change, Precondition(_versions(sent)))
        case "update":
            wanted = read_change({name: value for name, value in sent.items() if name in CHANGE})
            return Update(_text(sent, "id"), wanted.change, Precondition(_versions(sent), wanted.where))
        case "upsert":
            return _upsert(sent, id_)
        case "delete":
            return Delete(_text(sent, "id"), _versions(sent))
    return Get(_text(sent, "id"))


def _check_keys(sent: Mapping[str, Any]) -> None:
    """Raises Invalid for an operation that there is not, and for keys that it lacks or does not take."""
    if not isinstance(sent.get("op"), str) or sent["op"] not in KEYS:
        type_ = "enum" if "op" in sent else "missing"
        raise Invalid.one(("body", "op"), f"Must be one of {', '.join(KEYS)}", type_=type_)
    required, allowed = KEYS[sent["op"]]
    violations = [Violation(("body", name), "Field required", "missing") for name in required if name not in sent]
    violations += [
        Violation(("body", name), f"{sent['op']} takes no such field", "extra_forbidden")
        for name in sent
        if name not in {"op", *required, *allowed}
    ]
    if sent.get("collection") == USERS and sent["op"] not in OF_USERS:
        violations.append(Violation(("body", "op"), f"users takes {' and '.join(OF_USERS)}", "enum"))
    if violations:
        raise Invalid(violations)


def _checked_name(name: Any, created: CreatedIds) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid.one(("body", "as"), "A name has 1 to 64 letters, digits, '_' or '-'")
    if name in created:
        raise Invalid.one(("body", "as"), "Another operation has this name", type_="repeated")
    return name


def _text(sent: Mapping[str, Any], name: str) -> str:
    value = sent[name]
    if not isinstance(value, str):
        raise Invalid.one(("body", name), "Must be text", type_="string_type")
    return value


def _data(sent: Mapping[str, Any]) -> dict[str, Any]:
    return validated(DocumentForm, {"data": sent["data"]}).data


def _versions(sent: Mapping[str, Any]) -> Versions:
    if "if_match" not in sent:
        return None
    version = sent["if_match"]
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        raise Invalid.one(("body", "if_match"), "Must be a version: a whole number", type_="int_type")
    return (version,)


def _upsert(sent: Mapping[str, Any], id_: str) -> Upsert:
    named = {name: _text(sent, name) for name in ("by", "on_conflict") if name in sent}
    by, on_conflict = read_upsert(named.items())
    return Upsert(_data(sent), by, OnConflict(on_conflict), id_)


def results_view(outcomes: Sequence[Done | ServiceError]) -> BatchResults:
    refusals = Refusals()
    return {"results": [_view(position, outcome, refusals) for position, outcome in enumerate(outcomes)]}


def references_view(outcomes: Sequence[Done]) -> BatchResults:
    """The part of the results by which a replay finds their records again."""
    return {"results": [_reference(done) for done in outcomes]}


def _reference(done: Done) -> BatchResult:
    if done.user is not None:
        return {"status": done.status, "document": {"id": done.user["_id"]}}
    if done.document is None:
        return {"status": done.status}
    document: Any = reference_view(done.document)
    return {"status": done.status, "document": document}


def read_kept(body: Mapping[str, Any]) -> list[Kept]:
    """The results of `references_view`, or of an answer that an earlier version kept whole."""
    found = [(result["status"], result.get("document", {})) for result in body["results"]]
    return [Kept(status, document.get("id"), "version" in document) for status, document in found]


def _view(position: int, outcome: Done | ServiceError, refusals: Refusals) -> BatchResult:
    if isinstance(outcome, ServiceError):
        body: Any = refusals.list(locate(outcome, position)) if isinstance(outcome, Invalid) else outcome.body()
        return {"status": outcome.status, "error": body}
    if outcome.user is not None:
        return {"status": outcome.status, "document": _user_view(outcome.user)}
    if outcome.document is None:
        return {"status": outcome.status}
    shown: Any = written_view(outcome.document)
    return {"status": outcome.status, "document": shown}


def _user_view(row: Row) -> BatchDocument:
    named = {name: row[name] for name in ("email", "data", "created_at", "updated_at") if name in row}
    shown: Any = {"id": row["_id"], **named}
    found: BatchDocument = shown
    return found
