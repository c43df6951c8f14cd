"""Documents of declared collections. The database's validator judges each write; its verdict becomes a 422 here."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from service.domain.collections.catalog import Catalogs, Collection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.documents.references import LOC, Target, check_completed, faults_of
from service.domain.lists import Listing, Lists
from service.domain.projects.lookup import Project
from service.errors import DocumentNotFound, Invalid, RejectedByValidator, ServiceError, Unavailable
from service.query.bind import bind
from service.query.nodes import ListQuery
from service.schema.documents import complete, read
from service.schema.values import check_data, now
from service.schema.violations import translate
from service.storage.ids import new_id

T = TypeVar("T")
Document = dict[str, Any]
CreateResult = Document | ServiceError

JSON_SCHEMA = "$jsonSchema"


class Documents:
    """What a project's API key can do with the documents of a collection. Every call raises CollectionNotFound."""

    def __init__(self, catalogs: Catalogs, lists: Lists, judge: PatternJudge) -> None:
        self._catalogs = catalogs
        self._lists = lists
        self._judge = judge

    async def create(self, project: Project, name: str, data: Mapping[str, Any]) -> Document:
        """The new document {_id, data, created_at, updated_at}. Raises Invalid, DuplicateValue."""

        async def write(place: Target) -> Document:
            document = new_document(data, place.collection)
            await check_completed(place, document["data"], self._judge)
            await place.records.insert(document)
            return document

        return await self._judged(project, name, data, write)

    async def create_each(self, project: Project, name: str, rows: Sequence[Mapping[str, Any]]) -> list[CreateResult]:
        """Creates many as `create` would, in one batch: for each of `rows` its document, or why it was refused.

        It asks twice of the database, whatever the number of rows.
        """
        place = await self._place(project, name)
        documents = [new_document(row, place.collection) for row in rows]
        faults = await faults_of(place, rows, [document["data"] for document in documents], self._judge)
        sent = [number for number, fault in enumerate(faults) if not fault]
        refused = await place.records.insert_each([documents[number] for number in sent]) if sent else {}
        outcomes: list[CreateResult] = [
            Invalid(fault) if fault else documents[number] for number, fault in enumerate(faults)
        ]
        for position, error in refused.items():
            outcomes[sent[position]] = _as_client_error(error)
        return outcomes

    async def list(self, project: Project, name: str, query: ListQuery) -> Listing:
        """One page of documents. Raises Invalid, and as `Lists.read`."""
        shape = await self._catalogs.shape(project, name, query)
        return await self._lists.read(project.database, bind(query, shape))

    async def get(self, project: Project, name: str, id_: str) -> Document:
        """Raises DocumentNotFound."""
        return _found(await (await self._place(project, name)).records.find({"_id": id_}))

    async def replace(self, project: Project, name: str, id_: str, data: Mapping[str, Any]) -> Document:
        """Gives a document other data, defaults filled in. Raises DocumentNotFound, Invalid, DuplicateValue."""

        async def write(place: Target) -> Document:
            completed = complete(data, place.collection.fields)
            await check_completed(place, completed, self._judge)
            changes = {"$set": {"data": completed, "updated_at": now()}}
            return _found(await place.records.update({"_id": id_}, changes))

        return await self._judged(project, name, data, write)

    async def merge(self, project: Project, name: str, id_: str, data: Mapping[str, Any]) -> Document:
        """Sets the named top-level fields and leaves the others. Raises as `replace` does."""

        async def write(place: Target) -> Document:
            changed = read(data, place.collection.fields)
            await check_completed(place, changed, self._judge)
            changes = {"updated_at": now(), **{f"data.{name}": value for name, value in changed.items()}}
            return _found(await place.records.update({"_id": id_}, {"$set": changes}))

        return await self._judged(project, name, data, write)

    async def delete(self, project: Project, name: str, id_: str) -> None:
        """Raises DocumentNotFound."""
        place = await self._place(project, name)
        if not await place.records.delete({"_id": id_}):
            raise DocumentNotFound

    async def _place(self, project: Project, name: str) -> Target:
        return Target(project, await self._catalogs.get(project, name))

    async def _judged(
        self, project: Project, name: str, data: Mapping[str, Any], write: Callable[[Target], Awaitable[T]]
    ) -> T:
        """Runs `write` by the definition that is known; if it is refused and the definition was old, by the newest."""
        place = await self._place(project, name)
        if violations := check_data(data, LOC):
            raise Invalid(violations)
        try:
            return await write(place)
        except RejectedByValidator as refusal:
            newest = Target(project, await self._catalogs.refresh(project, name))
            if newest.collection == place.collection:
                raise _as_client_error(refusal) from None
        try:
            return await write(newest)
        except RejectedByValidator as refusal:
            raise _as_client_error(refusal) from None


def new_document(data: Mapping[str, Any], collection: Collection) -> Document:
    """The record of a document that is created now."""
    moment = now()
    completed = complete(data, collection.fields)
    return {"_id": new_id(), "data": completed, "created_at": moment, "updated_at": moment}


def _as_client_error(error: ServiceError) -> ServiceError:
    """What the client is told. While a schema is changed another validator is in force, which is no verdict."""
    if not isinstance(error, RejectedByValidator):
        return error
    if error.err_info.get("details", {}).get("operatorName", JSON_SCHEMA) != JSON_SCHEMA:
        return Unavailable("The schema of this collection is being changed; try again")
    return Invalid(translate(error.err_info))


def _found(document: Document | None) -> Document:
    if document is None:
        raise DocumentNotFound
    return document
