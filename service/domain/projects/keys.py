"""A project's API keys: secret ones for its servers, publishable ones for its pages and apps. Each is shown once."""

import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from service.bounds import MAX_KEYS
from service.domain.projects.lookup import PUBLISHABLE_PREFIX, SECRET_PREFIX, Projects, hash_api_key
from service.errors import ConfigurationError, NotFound, ProjectNotFound
from service.schema.values import now
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


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was made just now; `record` is its stored form."""

    key: str = field(repr=False)
    record: dict[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        return key_id(self.record)


@dataclass(frozen=True, slots=True)
class ProjectKeys:
    """The two keys that a project begins with."""

    secret: str = field(repr=False)
    publishable: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key, as a list shows it."""

    id: str
    kind: str
    name: str
    created_at: datetime


class Keys:
    """The operations of `auth-collections key`."""

    def __init__(self, store: ProjectStore, projects: Projects) -> None:
        self._store = store
        self._projects = projects

    async def create(self, project_id: str, kind: Kind, name: str) -> NewKey:
        """Raises ProjectNotFound, ConfigurationError."""
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
            raise ConfigurationError(f"A key's name has 1 to {MAX_NAME} printable characters")
        _refuse_keys(len(await self.list(project_id)) + 1)
        new = new_key(project_id, kind, name)
        await self._store.add_key(new.record)
        try:
            # If two concurrent creations together exceed the bound, both are undone.
            _refuse_keys(len(await self.list(project_id)))
        except ConfigurationError:
            await self._store.remove_key(project_id, key_id(new.record))
            raise
        return new

    async def list(self, project_id: str) -> Sequence[KeyEntry]:
        """Oldest first. Raises ProjectNotFound."""
        if await self._store.find(project_id) is None:
            raise ProjectNotFound(f"There is no project {project_id}")
        return [_entry(record) for record in await self._store.keys(project_id)]

    async def revoke(self, project_id: str, id_: str) -> None:
        """The key is refused, on every worker, within five seconds. Raises ProjectNotFound, NotFound."""
        await self.list(project_id)
        if not await self._store.remove_key(project_id, id_):
            raise NotFound(f"The project {project_id} has no key {id_}")
        self._projects.forget_all()


def _refuse_keys(number: int) -> None:
    if number > MAX_KEYS:
        raise ConfigurationError(f"A project has at most {MAX_KEYS} keys; revoke an unused one")


def new_key(project_id: str, kind: Kind, name: str) -> NewKey:
    random = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    key = f"{PREFIXES[kind]}{project_id[:8]}_{random}"
    record = {"_id": hash_api_key(key), "project_id": project_id, "created_at": now(), "kind": kind, "name": name}
    return NewKey(key, record)


def key_id(record: dict[str, Any]) -> str:
    return str(record["_id"])[:ID_LENGTH]


def _entry(record: dict[str, Any]) -> KeyEntry:
    """A key from before there were kinds is a secret one."""
    return KeyEntry(key_id(record), record.get("kind", SECRET), record.get("name", "default"), record["created_at"])
