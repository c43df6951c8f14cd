"""Operators, administered by owners and by the command line: at every moment one owner stays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.bounds import MAX_OPERATORS
from service.domain.audit.actions import Action
from service.domain.audit.audit import Audit
from service.domain.operators.invitations import require_projects
from service.domain.operators.operator import Operator, read_operator
from service.domain.operators.sessions import end_all
from service.domain.operators.trail import act_on
from service.domain.permissions import EVERY, Role
from service.errors import LastOwner, OperatorNotFound
from service.storage.client import Document
from service.storage.operator_records import OperatorDatabase

ACTIVE_OWNER: Document = {f"roles.{EVERY}": "owner", "disabled": {"$ne": True}}


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """The fields to change; None stays as it is."""

    name: str | None = None
    roles: Mapping[str, Role] | None = None
    disabled: bool | None = None


class OperatorAdministration:
    """Lists, changes and removes operators."""

    def __init__(self, database: OperatorDatabase, audit: Audit) -> None:
        self._database = database
        self._audit = audit

    async def list(self) -> Sequence[Operator]:
        """All operators, oldest first."""
        return [read_operator(record) for record in await self._database.list(most=2 * MAX_OPERATORS)]

    async def find(self, match: Document) -> Operator:
        """Raises OperatorNotFound."""
        for operator in await self.list():
            if operator.id == match.get("_id") or operator.email == match.get("email"):
                return operator
        raise OperatorNotFound

    async def change(self, operator_id: str, change: OperatorChange, own_session: str | None = None) -> Operator:
        """The operator afterwards. Other roles, and disabling, end all its sessions but `own_session`.

        Raises OperatorNotFound, LastOwner, Invalid.
        """

        async def write(database: OperatorDatabase) -> Operator:
            before = await _read_one(database, operator_id)
            changes = _differences(before, change)
            await require_projects(database, changes.get("roles", {}))
            if not changes:
                return before
            await database.lock_owners()
            await _keep_owner(database, before, changes)
            ends = bool(changes.keys() - {"name"})
            update: Document = {"$set": changes} | ({"$inc": {"version": 1}} if ends else {})
            after = await database.change(operator_id, update)
            if after is None:
                raise OperatorNotFound
            if ends:
                await end_all(database, operator_id, but=own_session)
                await database.sessions.update_many(
                    {"operator_id": operator_id}, {"$set": {"version": after["version"]}}
                )
            old = {name: getattr(before, name) for name in changes}
            act = act_on(Action.OPERATOR_CHANGED, before.id, before.email, old, changes)
            await self._audit.record(database.session, act)
            return read_operator(after)

        await self._database.in_transaction(write)
        return await self.find({"_id": operator_id})

    async def remove(self, operator_id: str) -> None:
        """Removes an operator with its sessions, tokens and invitations. Raises OperatorNotFound, LastOwner."""

        async def write(database: OperatorDatabase) -> None:
            before = await _read_one(database, operator_id)
            await database.lock_owners()
            await _keep_owner(database, before, {"roles": {}})
            await database.operators.delete({"_id": operator_id})
            await end_all(database, operator_id)
            await database.tokens.delete_many({"operator_id": operator_id})
            await database.invitations.delete_many({"operator_id": operator_id})
            old = {"email": before.email, "name": before.name, "roles": before.roles}
            act = act_on(Action.OPERATOR_REMOVED, before.id, before.email, old)
            await self._audit.record(database.session, act)

        await self._database.in_transaction(write)

    async def end_sessions(self, operator_id: str) -> None:
        """Ends all sessions of an operator. Raises OperatorNotFound."""

        async def write(database: OperatorDatabase) -> None:
            await _read_one(database, operator_id)
            await end_all(database, operator_id)

        await self._database.in_transaction(write)


async def _read_one(database: OperatorDatabase, operator_id: str) -> Operator:
    """Raises OperatorNotFound."""
    record = await database.find({"_id": operator_id})
    if record is None:
        raise OperatorNotFound
    return read_operator(record)


def _differences(before: Operator, change: OperatorChange) -> dict[str, Any]:
    """The fields that become others."""
    wanted = {"name": change.name, "roles": change.roles, "disabled": change.disabled}
    return {name: value for name, value in wanted.items() if value is not None and value != getattr(before, name)}


async def _keep_owner(database: OperatorDatabase, before: Operator, changes: Mapping[str, Any]) -> None:
    """Raises LastOwner where no active owner would be left. Two such changes at once conflict by `lock_owners`."""
    was_owner = before.is_owner and not before.disabled
    roles, disabled = changes.get("roles", before.roles), changes.get("disabled", before.disabled)
    if not was_owner or (roles.get(EVERY) == "owner" and not disabled):
        return
    if not await database.count_others({**ACTIVE_OWNER, "_id": {"$ne": before.id}}):
        raise LastOwner
