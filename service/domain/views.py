"""Saved views of a project: private ones are their maker's, shared ones are everybody's in the project.

The service does not know what a `state` means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from service.bounds import MAX_VIEW_BYTES, MAX_VIEW_DEPTH, MAX_VIEWS
from service.domain.access.caller import OperatorCaller
from service.domain.permissions import Access
from service.errors import Invalid, PermissionRequired, TooLarge, VersionConflict, ViewLimit, ViewNotFound
from service.schema.values import now
from service.schema.versions import Versions, is_one_of, version_tag
from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.ids import new_id
from service.storage.views import ViewStore

Kind = Literal["grid", "chart"]
WRITE = Access("data", "write")
STATE = ("body", "state")


@dataclass(frozen=True, slots=True)
class SavedView:
    """`of` is the collection of a grid, or the aggregation of a chart. `is_own`: the caller made it."""

    id: str
    kind: Kind
    of: str
    name: str
    state: Mapping[str, Any]
    shared: bool
    is_own: bool
    version: int
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ViewDraft:
    """The fields of a view; of a change, None stays as it is."""

    kind: Kind | None = None
    of: str | None = None
    name: str | None = None
    state: Mapping[str, Any] | None = None
    shared: bool | None = None

    def write(self) -> Document:
        """The given fields as they are stored. Raises Invalid, TooLarge."""
        names = ("kind", "of", "name", "shared")
        found = {name: value for name in names if (value := getattr(self, name)) is not None}
        return found if self.state is None else {**found, "state": write_state(self.state)}


class Views:
    """Lists, makes, changes and deletes views. Every call raises Unavailable."""

    def __init__(self, databases: Databases) -> None:
        self._store = ViewStore(databases)

    async def list(self, caller: OperatorCaller, kind: str | None = None, of: str | None = None) -> Sequence[SavedView]:
        """The shared views, and the caller's own, by their names."""
        wanted = {name: value for name, value in (("kind", kind), ("of", of)) if value is not None}
        match: Document = {"kind": {"$exists": True}, **_visible(caller), **wanted}
        return [_read(row, caller) for row in await self._store.list(match, most=MAX_VIEWS)]

    async def create(self, caller: OperatorCaller, draft: ViewDraft) -> SavedView:
        """Raises PermissionRequired, Invalid, TooLarge, ViewLimit."""
        if draft.shared:
            _require_write(caller)
        moment = now()
        view: Document = {
            "_id": new_id(),
            "project_id": caller.project.id,
            "owner_id": caller.admin.operator_id,
            "version": 1,
            "created_at": moment,
            "updated_at": moment,
            **draft.write(),
        }
        if not await self._store.insert(view, most=MAX_VIEWS):
            raise ViewLimit
        return _read(view, caller)

    async def change(self, caller: OperatorCaller, view_id: str, draft: ViewDraft, versions: Versions) -> SavedView:
        """Raises ViewNotFound, PermissionRequired, Invalid, TooLarge, VersionConflict."""
        before = await self._find(caller, view_id)
        if before["shared"] or draft.shared:
            _require_write(caller)
        changes = draft.write()
        if not is_one_of(before["version"], versions):
            raise VersionConflict(version_tag(before["version"]))
        if not changes:
            return _read(before, caller)
        # A shared view may become private to its maker only.
        if draft.shared is False:
            changes["owner_id"] = caller.admin.operator_id
        match: Document = {"_id": view_id, "project_id": caller.project.id, "version": before["version"]}
        after = await self._store.update(match, {**changes, "updated_at": now()})
        if after is not None:
            return _read(after, caller)
        present = await self._find(caller, view_id)
        raise VersionConflict(version_tag(present["version"]))

    async def delete(self, caller: OperatorCaller, view_id: str) -> None:
        """Raises ViewNotFound, PermissionRequired."""
        before = await self._find(caller, view_id)
        if before["shared"]:
            _require_write(caller)
        if not await self._store.delete({"_id": view_id, "project_id": caller.project.id}):
            raise ViewNotFound

    async def _find(self, caller: OperatorCaller, view_id: str) -> Document:
        """Raises ViewNotFound, also for another operator's private view."""
        match: Document = {"_id": view_id, "kind": {"$exists": True}, **_visible(caller)}
        found = await self._store.find(match)
        if found is None:
            raise ViewNotFound
        return found


def write_state(state: Mapping[str, Any]) -> str:
    """The state as JSON text. Raises Invalid for one that is too deep, TooLarge for one of too many bytes."""
    if measure_depth(state) > MAX_VIEW_DEPTH:
        raise Invalid.one(STATE, f"Objects and arrays are nested at most {int(MAX_VIEW_DEPTH)} deep")
    text = orjson.dumps(state)
    if len(text) > MAX_VIEW_BYTES:
        raise TooLarge(f"The state of a view has at most {int(MAX_VIEW_BYTES):,} bytes")
    if b"\\u0000" in text.replace(b"\\\\", b""):
        raise Invalid.one(STATE, "This must not contain the character U+0000")
    return text.decode()


def measure_depth(value: object) -> int:
    """The number of objects and arrays inside one another, as far as MAX_VIEW_DEPTH and one more."""
    level, depth = [value], 0
    while level and depth <= MAX_VIEW_DEPTH:
        found = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in found for inner in (each.values() if isinstance(each, dict) else each)]
        depth += bool(found)
    return depth


def _visible(caller: OperatorCaller) -> Document:
    own = {"owner_id": caller.admin.operator_id}
    return {"project_id": caller.project.id, "$or": [{"shared": True}, own]}


def _require_write(caller: OperatorCaller) -> None:
    """Raises PermissionRequired."""
    project_id = caller.project.id
    if not caller.admin.rights.allows(project_id, "data", WRITE.level):
        raise PermissionRequired(f"{project_id}:data:write")


def _read(record: Mapping[str, Any], caller: OperatorCaller) -> SavedView:
    return SavedView(
        id=record["_id"],
        kind=cast(Kind, record["kind"]),
        of=record["of"],
        name=record["name"],
        state=orjson.loads(record["state"]),
        shared=record["shared"],
        is_own=record["owner_id"] == caller.admin.operator_id,
        version=record["version"],
        record=record,
    )
