"""A project's API keys: secret ones for its servers, publishable ones for its pages and apps. Each is shown once."""

import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from service.bounds import MAX_KEYS
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import HIDDEN, compare
from service.domain.projects.lookup import PUBLISHABLE_PREFIX, SECRET_PREFIX, Projects, hash_api_key
from service.errors import InvalidConfiguration, KeyLimit, KeyNotFound, ProjectNotFound
from service.schema.values import now
from service.storage.client import ClientSession, Document
from service.storage.projects import ProjectStore

Kind = Literal["secret", "publishable"]
SECRET: Kind = "secret"  # noqa: S105 - a kind, not one of them
PUBLISHABLE: Kind = "publishable"
PREFIXES: dict[Kind, str] = {SECRET: SECRET_PREFIX, PUBLISHABLE: PUBLISHABLE_PREFIX}
ALPHABET = string.ascii_letters + string.digits
RANDOM_LENGTH = 32
# Enough of the hash to tell a project's keys apart, and of no use to anybody else.
ID_LENGTH = 12
MAX_NAME = 100
# The hashes of removed keys, and the record of a new one.
KeyChange = tuple[list[str], Document | None]
# The class has a method `list`.
_Records = list[Document]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was made just now; `record` is its stored form."""

    key: str = field(repr=False)
    record: dict[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        return key_id(self.record["_id"])


@dataclass(frozen=True, slots=True)
class ProjectKeys:
    """The two keys that a project begins with."""

    secret: str = field(repr=False)
    publishable: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key, as a list shows it."""

    id: str
    kind: Kind
    name: str
    created_at: datetime
    last_used_at: datetime | None = None


class Keys:
    """The operations of `auth-collections key`."""

    def __init__(self, store: ProjectStore, projects: Projects, audit: Audit) -> None:
        self._store = store
        self._projects = projects
        self._audit = audit

    async def create(self, project_id: str, kind: Kind, name: str) -> NewKey:
        """Raises ProjectNotFound, InvalidConfiguration, KeyLimit."""
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
            msg = f"A key's name has 1 to {MAX_NAME} printable characters"
            raise InvalidConfiguration.one(("body", "name"), msg)
        new = new_key(project_id, kind, name)

        async def decide(session: ClientSession, found: _Records) -> KeyChange:
            if len(found) >= MAX_KEYS:
                raise KeyLimit(MAX_KEYS)
            await self._audit.record(session, _act(Action.KEY_CREATED, new.record, after=describe_key(new.record)))
            return [], new.record

        await self._store.change_keys(project_id, decide)
        return new

    async def rotate(self, project_id: str) -> NewKey:
        """A new secret key; all earlier ones are refused, on every worker, within five seconds. Raises ProjectNotFound."""
        new = new_key(project_id, SECRET, "default")

        async def decide(session: ClientSession, found: _Records) -> KeyChange:
            earlier = [record for record in found if _kind(record) == SECRET]
            names = {key_id(record["_id"]): describe_key(record) for record in earlier}
            changes = compare(names, {new.id: describe_key(new.record)})
            target = Target("key", new.id, new.record["name"])
            act = Act(Action.KEY_ROTATED, target, project_id, changes, is_new=True)
            await self._audit.record(session, act)
            return [record["_id"] for record in earlier], new.record

        await self._store.change_keys(project_id, decide)
        self._projects.forget_all()
        return new

    async def list(self, project_id: str) -> Sequence[KeyEntry]:
        """Oldest first. Raises ProjectNotFound."""
        if await self._store.find(project_id) is None:
            raise ProjectNotFound(f"There is no project {project_id}")
        return [_entry(record) for record in await self._store.keys(project_id)]

    async def revoke(self, project_id: str, id_: str) -> None:
        """The key is refused, on every worker, within five seconds. Raises ProjectNotFound, KeyNotFound."""

        async def decide(session: ClientSession, found: _Records) -> KeyChange:
            record = next((each for each in found if key_id(each["_id"]) == id_), None)
            if record is None:
                raise KeyNotFound(f"The project {project_id} has no key {id_}")
            await self._audit.record(session, _act(Action.KEY_REVOKED, record, before=describe_key(record)))
            return [record["_id"]], None

        await self._store.change_keys(project_id, decide)
        self._projects.forget_all()


def new_key(project_id: str, kind: Kind, name: str) -> NewKey:
    random = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    key = f"{PREFIXES[kind]}{project_id[:8]}_{random}"
    record = {"_id": hash_api_key(key), "project_id": project_id, "created_at": now(), "kind": kind, "name": name}
    return NewKey(key, record)


def key_id(key_hash: str) -> str:
    """The id of a key in lists and in the audit log: the beginning of its hash."""
    return key_hash[:ID_LENGTH]


def describe_key(record: Document) -> Document:
    """The key as an audit entry shows it."""
    return {"kind": _kind(record), "name": _name(record), "key": HIDDEN}


def _act(action: Action, record: Document, *, before: Document = {}, after: Document = {}) -> Act:  # noqa: B006
    target = Target("key", key_id(record["_id"]), _name(record))
    return Act(action, target, record["project_id"], compare(before, after), is_new=bool(after))


def _entry(record: Document) -> KeyEntry:
    return KeyEntry(
        key_id(record["_id"]), _kind(record), _name(record), record["created_at"], record.get("last_used_at")
    )


def _kind(record: Document) -> Kind:
    """A key from before there were kinds is a secret one."""
    kind: Kind = record.get("kind", SECRET)
    return kind


def _name(record: Document) -> str:
    return str(record.get("name", "default"))
