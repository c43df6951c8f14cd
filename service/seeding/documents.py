"""Documents of a seed: by the fields that are their key. New ones go through the code that answers the API, in batches."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.collections.catalog import DeclaredCollection
from service.domain.documents.documents import Documents
from service.domain.documents.reader import Engine
from service.domain.projects.lookup import Project
from service.errors import Invalid, ServiceError
from service.schema.documents import read
from service.seeding.attachments import Attachments, FilePaths, take_paths
from service.seeding.manifest import DocumentSource
from service.seeding.report import Report, find_changes
from service.storage.documents import SetFields, StoredDocument

RowData = dict[str, Any]
UPLOADS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Destination:
    """The target of documents: `project` and `collection` exist, unless this is a dry run before the first seed."""

    project: Project | None
    collection: DeclaredCollection | None
    name: str
    source: DocumentSource
    documents: Engine
    attachments: Attachments
    # The fields that take files.
    files: frozenset[str] = frozenset()

    @property
    def refers_to_itself(self) -> bool:
        """True if a row may name an earlier one of the same source, which must be stored before it is looked for."""
        return any(each.startswith(f"{self.name}.") for each in self.source.references.values())

    def read_row(self, place: str, data: RowData) -> "SeedDocument | str":
        return read_document(place, data, self.source, self.files)


@dataclass(frozen=True, slots=True)
class SeedDocument:
    """One document as the manifest wants it; `key` is the text of its natural key, `paths` are those of its files."""

    place: str
    data: RowData
    key: str
    paths: FilePaths


def read_document(
    place: str, data: RowData, source: DocumentSource, files: frozenset[str] = frozenset()
) -> SeedDocument | str:
    """The document that a row means, or why it means none."""
    if missing := next((name for name in source.key if name not in data), None):
        return f"{missing}: is part of the key and must be there"
    if nested := next((name for name in source.key if isinstance(data[name], dict | list)), None):
        return f"{nested}: is part of the key and cannot be an object or an array"
    if named := next((name for name in source.key if name in files), None):
        return f"{named}: is a file and cannot be part of the key"
    try:
        paths = take_paths(data, files)
    except ValueError as error:
        return str(error)
    return SeedDocument(place, data, key_of(data, source), paths)


def key_of(data: Mapping[str, Any], source: DocumentSource) -> str:
    """The natural key as text, the same for a value as it was written and as it was stored."""
    return json.dumps([data.get(name) for name in source.key], default=str, ensure_ascii=False)


async def seed_documents(target: Destination, wanted: Sequence[SeedDocument], report: Report, *, dry_run: bool) -> None:
    """Brings one batch about: one command to find them, two to store the new, two for each that differs."""
    forms = [_stored_form(target, document.data) for document in wanted]
    found = await _find(target, forms)
    new: list[SeedDocument] = []
    for document, form in zip(wanted, forms, strict=True):
        record = found.get(key_of(form, target.source)) if found else None
        if record is None:
            new.append(document)
        else:
            await _update(target, record, document, form, report=report, dry_run=dry_run)
    await _create(target, new, report, dry_run=dry_run)


def _stored_form(target: Destination, data: RowData) -> RowData:
    return read(data, target.collection.fields) if target.collection else data


async def _find(target: Destination, forms: Sequence[RowData]) -> dict[str, StoredDocument]:
    """Key → document. Each field is asked for on its own, so a few more may come than match whole keys."""
    if target.collection is None or target.project is None or not forms:
        return {}
    values = {name: [form[name] for form in forms] for name in target.source.key}
    found = await Documents(target.documents.of_server(SecretKeyCaller(target.project), target.name)).find_by_values(
        values
    )
    return {key_of(document.data, target.source): document for document in found}


async def _create(target: Destination, new: Sequence[SeedDocument], report: Report, *, dry_run: bool) -> None:
    attached = [document for document in new if document.paths]
    plain = [document for document in new if not document.paths]
    outcomes: Sequence[StoredDocument | ServiceError | None] = [None] * len(plain)
    if plain and target.project is not None and not dry_run:
        documents = Documents(target.documents.of_server(SecretKeyCaller(target.project), target.name))
        outcomes = await documents.create_each([document.data for document in plain])
    _report_created(target, plain, outcomes, report)
    for start in range(0, len(attached), UPLOADS_AT_ONCE):
        some = attached[start : start + UPLOADS_AT_ONCE]
        refusals = await asyncio.gather(*(_upload(target, each, dry_run=dry_run) for each in some))
        _report_created(target, some, refusals, report)


def _report_created(
    target: Destination,
    new: Sequence[SeedDocument],
    outcomes: Sequence[StoredDocument | ServiceError | None],
    report: Report,
) -> None:
    for document, outcome in zip(new, outcomes, strict=True):
        if isinstance(outcome, ServiceError):
            report.refuse(target.name, document.place, reason(outcome))
        else:
            report.created(target.name, document.key)


async def _upload(target: Destination, document: SeedDocument, *, dry_run: bool) -> ServiceError | None:
    """Why the document with its files was refused. In a dry run, too, a file that cannot be read is found."""
    try:
        await target.attachments.find_changed(document.paths, {})
        if target.project is not None and not dry_run:
            await target.attachments.create(target.project, target.name, document.data, document.paths)
    except ServiceError as error:
        return error
    return None


async def _update(
    target: Destination,
    record: StoredDocument,
    document: SeedDocument,
    after: RowData,
    *,
    report: Report,
    dry_run: bool,
) -> None:
    before = record.data
    changes = find_changes(before, after)
    try:
        paths = await target.attachments.find_changed(document.paths, before)
        if not changes and not paths:
            report.unchanged(target.name)
            return
        if target.project is not None and not dry_run:
            sent = {name: document.data[name] for name in changes}
            await _change(target, target.project, record.id, sent, paths)
    except ServiceError as error:
        report.refuse(target.name, document.place, reason(error))
    else:
        differing = {**changes, **paths}
        report.updated(
            target.name, document.key, {name: before[name] for name in differing if name in before}, differing
        )


async def _change(target: Destination, project: Project, id_: str, data: RowData, paths: FilePaths) -> None:
    if paths:
        await target.attachments.change(project, target.name, id_, data, paths)
    else:
        await Documents(target.documents.of_server(SecretKeyCaller(project), target.name)).change(id_, SetFields(data))


def reason(error: ServiceError) -> str:
    """An error as one line: the first broken rule and where, for a 422."""
    if not isinstance(error, Invalid):
        return error.detail
    first = error.violations[0]
    place = ".".join(str(part) for part in first.loc if part not in {"body", "data"})
    return f"{place}: {first.msg}" if place else first.msg
