"""Writing and reading the audit log.

A change of configuration is recorded in its own transaction: there is no change without its entry, and no entry without
its change. A write of data by an operator has an entry that begins before the write, and gets its status afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from service.domain.audit.actions import Action
from service.domain.audit.changes import NO_CHANGES, KeptChanges
from service.domain.audit.origin import find_origin
from service.schema.values import now
from service.storage.audit import BEGUN, AuditFilter, AuditStore, Place
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.ids import new_id


@dataclass(frozen=True, slots=True)
class Target:
    """The thing that an action is about."""

    type: str
    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One audited action. `is_new` says that it made its target."""

    action: Action | str
    target: Target
    project_id: str | None = None
    changes: KeptChanges = NO_CHANGES
    reason: str | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some entries, the newest first, and the place after which the next page begins, if there is one."""

    rows: Sequence[Mapping[str, Any]]
    next: Place | None


class Audit:
    """The audit log of the deployment. Every call raises Unavailable."""

    def __init__(self, databases: Databases, *, days: int) -> None:
        """Entries are kept for `days`."""
        self._store = AuditStore(databases)
        self._keep = timedelta(days=days)

    async def record(self, session: ClientSession | None, act: Act) -> None:
        """Stores the entry of a change, as part of the change's transaction. Raises TypeError outside of one."""
        if session is None:
            raise TypeError(f"{act.action} is recorded outside of a transaction")
        origin = find_origin()
        await self._store.insert(self._write(act, origin.status(is_new=act.is_new)), session)

    async def note(self, act: Act) -> None:
        """Stores the entry of an action that changes nothing, such as a sign-in, or one without a transaction."""
        await self._store.insert(self._write(act, find_origin().status(is_new=act.is_new)), None)

    async def begin(self, act: Act) -> str:
        """Stores the entry of a write that begins now, and returns its id."""
        entry = self._write(act, BEGUN)
        await self._store.insert(entry, None)
        return str(entry["_id"])

    async def finish(self, entry_id: str, status: int, changes: KeptChanges = NO_CHANGES) -> None:
        """The write of a begun entry was answered with `status`, and wrote `changes`."""
        await self._store.finish(entry_id, {"status": status, "changes": changes.text, "omitted": changes.omitted})

    async def list(self, wanted: AuditFilter, *, after: Place | None = None, limit: int = 50) -> AuditPage:
        """One page. Raises QueryTooSlow."""
        rows = await self._store.page(wanted, after=after, limit=limit + 1)
        shown = rows[:limit]
        last = shown[-1] if len(rows) > limit else None
        return AuditPage(shown, Place(last["at"], last["_id"]) if last else None)

    def _write(self, act: Act, status: int | str | None) -> Document:
        origin, at = find_origin(), now()
        return {
            "_id": new_id(),
            "at": at,
            "actor": asdict(origin.actor),
            "project_id": act.project_id,
            "action": str(act.action),
            "target": asdict(act.target),
            "status": status,
            "changes": act.changes.text,
            "omitted": act.changes.omitted,
            "request_id": origin.request_id,
            "ip": origin.ip,
            "user_agent": origin.user_agent,
            "reason": act.reason,
            "expires_at": at + self._keep,
        }
