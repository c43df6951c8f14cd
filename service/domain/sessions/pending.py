"""Sign-ins that wait for a second factor, or for the user to have one: flows without a mail.

A flow's id is the only proof of the first factor, so only its digest is stored. It opens nothing else.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from service.domain.mail_flows.flows import TRIES
from service.domain.projects.lookup import Project
from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.flows import FlowStore, new_record

SECOND_FACTOR, ENROLMENT = "second_factor", "enrolment"
# Purposes of passkey ceremonies: a device's challenge, beside a pending sign-in.
PASSKEY_SIGN_IN, STEP_UP, NEW_PASSKEY = "passkey_sign_in", "step_up", "new_passkey"
LIFE = timedelta(minutes=10)
RANDOM_BYTES = 16
# Apart from the names of other flows.
PREFIX = "pending:"


@dataclass(frozen=True, slots=True)
class Recognized:
    """A recognized user, with the methods `amr`, and the user's version at that time.

    The session `replaces` ends when the new one begins.
    """

    user_id: str
    version: int
    amr: tuple[str, ...]
    replaces: str | None = None


# The user of a flow that is still to identify one.
NOBODY = Recognized("", 0, ())


@dataclass(frozen=True, slots=True)
class Pending:
    """A sign-in that waits; `id` is a digest of `flow_id`."""

    id: str
    recognized: Recognized
    flow_id: str


class PendingSignIns:
    """The pending sign-ins of all projects.

    Each is good in one project, for LIFE, once. Raises the errors of the database.
    """

    def __init__(self, store: FlowStore) -> None:
        self._store = store

    async def begin(self, project: Project, purpose: str, recognized: Recognized) -> str:
        """Begins a flow and returns its id, known only to the caller."""
        flow_id, moment = secrets.token_urlsafe(RANDOM_BYTES), now()
        record = new_record(
            _digest(flow_id),
            project_id=project.id,
            purpose=purpose,
            account="",
            created_at=moment,
            expires_at=moment + LIFE,
        )
        state: Document = {"version": recognized.version, "amr": list(recognized.amr), "replaces": recognized.replaces}
        await self._store.insert(record | {"user_id": recognized.user_id, "left": TRIES, "state": state})
        return flow_id

    async def find(self, project: Project, purpose: str, flow_id: str) -> Pending | None:
        """The one that still waits."""
        return _read(await self._store.find(_match(project, purpose, flow_id), now()), flow_id)

    async def take_try(self, project: Project, purpose: str, flow_id: str) -> Pending | None:
        """As `find`, and leaves it one try less. There are TRIES, however many come at once."""
        return _read(await self._store.take_try(_match(project, purpose, flow_id), now()), flow_id)

    async def spend(self, pending: Pending, database: ProjectDatabase) -> bool:
        """Returns True for exactly one concurrent caller, as part of the database's transaction."""
        return await self._store.spend(pending.id, now(), database.session)


def _match(project: Project, purpose: str, flow_id: str) -> Document:
    return {"_id": _digest(flow_id), "project_id": project.id, "purpose": purpose}


def _read(record: Document | None, flow_id: str) -> Pending | None:
    if record is None:
        return None
    state = record["state"]
    amr: Sequence[str] = state["amr"]
    return Pending(
        record["_id"], Recognized(record["user_id"], state["version"], tuple(amr), state["replaces"]), flow_id
    )


def _digest(flow_id: str) -> str:
    return PREFIX + hashlib.sha256(flow_id.encode(errors="replace")).hexdigest()
