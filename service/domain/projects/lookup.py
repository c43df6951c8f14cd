"""Finding the project of a request: by its API key, or by its id as a token or a URL names it."""

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import inf
from typing import Any

from joserfc.jwk import ECKey

from service.bounds import MAX_KNOWN_ORIGINS, MAX_KNOWN_PROJECTS
from service.domain.cache import Cache
from service.domain.projects.data_versions import Migrator, check_project
from service.domain.projects.providers import PROVIDER_SECRETS, Provider, read_provider
from service.domain.projects.secrets import SecretBox
from service.domain.projects.settings import SECRET_SETTINGS, ProjectSettings, read_project_settings
from service.errors import ConfigurationError, InvalidApiKey, InvalidConfiguration, ProjectNotFound, ServiceError
from service.schema.values import now
from service.storage.databases import Databases, ProjectDatabase
from service.storage.identities import Identities
from service.storage.projects import ProjectStore
from service.storage.users import Users

PROJECT_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
SECRET_PREFIX, PUBLISHABLE_PREFIX = "ac_", "acp_"
API_KEY = re.compile(rf"(?:{SECRET_PREFIX}|{PUBLISHABLE_PREFIX})[a-z0-9-]{{1,8}}_[A-Za-z0-9]{{32}}")
# A rotated key or a changed setting reaches every worker within this time.
CACHE_SECONDS = 5
# Bytes in memory of a project: as measured, and for each of its keys and providers.
BYTES_OF_PROJECT = 8_000
BYTES_OF_PART = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """One project as a request sees it: its settings, its own database and the key pair that signs its tokens.

    `other_keys` sign none, but their tokens are good: the next one is the first of them, where there is one. `providers` are
    those beside the one of the IDP settings, by their names. `has_profile` is False where no schema of profiles was ever
    declared, and None where that was not read. `has_foreign_hashes` while a user has a
    hash of a password that is not bcrypt's; `signer_keys` check those of Firebase.
    """

    id: str
    name: str
    settings: ProjectSettings
    signing_key: ECKey
    database: ProjectDatabase
    created_at: datetime
    other_keys: tuple[ECKey, ...] = ()
    providers: Mapping[str, Provider] = field(default_factory=dict)
    has_profile: bool | None = None
    has_foreign_hashes: bool = False
    signer_keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    users: Users = field(init=False, repr=False)
    identities: Identities = field(init=False, repr=False)

    def find_key(self, kid: str) -> ECKey | None:
        """The key of that name, whose tokens are good."""
        return next((key for key in (self.signing_key, *self.other_keys) if key.kid == kid), None)

    def __post_init__(self) -> None:
        # Made once, not for each request: they hold nothing but the database.
        object.__setattr__(self, "users", Users(self.database))
        object.__setattr__(self, "identities", Identities(self.database))


def hash_api_key(api_key: str) -> str:
    """Keys are 190 random bits, so a plain SHA-256 cannot be searched."""
    return hashlib.sha256(api_key.encode()).hexdigest()


class Projects:
    """The projects of this service, each remembered for at most five seconds."""

    def __init__(
        self,
        databases: Databases,
        store: ProjectStore,
        secret_box: SecretBox,
        migrator: Migrator,
        *,
        default_id: str | None = None,
    ) -> None:
        self._databases = databases
        self._store = store
        self._secret_box = secret_box
        self._migrator = migrator
        self._default_id = default_id
        self._by_id: Cache[Project] = Cache(MAX_KNOWN_PROJECTS, CACHE_SECONDS, _weigh)
        self._origins: Cache[bool] = Cache(MAX_KNOWN_ORIGINS, CACHE_SECONDS)
        self._by_key: Cache[Project] = Cache(MAX_KNOWN_PROJECTS, CACHE_SECONDS, _weigh)
        self._key_uses: dict[str, datetime] = {}
        self._caches: list[Cache[Any]] = [self._by_id, self._origins, self._by_key]

    async def by_api_key(self, api_key: str) -> Project:
        """Raises InvalidApiKey for one that is malformed, unknown or revoked."""
        if (project := self._by_key.get(api_key)) is not None:
            return project
        if not API_KEY.fullmatch(api_key):
            raise InvalidApiKey
        return await self._by_key.get_or_load(api_key, partial(self._load_by_key, api_key))

    async def _load_by_key(self, api_key: str) -> Project:
        key_hash = hash_api_key(api_key)
        record = await self._store.find_by_key(key_hash)
        if record is None:
            raise InvalidApiKey
        self._key_uses[key_hash] = now()
        return await self._use(record)

    async def by_id(self, project_id: str) -> Project:
        """Raises ProjectNotFound."""
        if (project := self._by_id.get(project_id)) is not None:
            return project
        if not PROJECT_ID.fullmatch(project_id):
            raise ProjectNotFound
        return await self._by_id.get_or_load(project_id, partial(self._load, project_id))

    async def _load(self, project_id: str) -> Project:
        record = await self._store.find(project_id)
        if record is None:
            raise ProjectNotFound
        return await self._use(record)

    async def check_stored(self, project: Project) -> None:
        """Asks MongoDB, not the cache. Raises ProjectNotFound for a project that was deleted meanwhile."""
        if await self._store.find(project.id) is None:
            raise ProjectNotFound

    async def _use(self, record: dict[str, Any]) -> Project:
        """Raises NewerData for a project of a newer version: no request may read or change it."""
        project = self.opened(record)
        state = await check_project(project.id, project.database)
        self._migrator.note(project.id)
        return replace(project, has_profile=state.has_profile, has_foreign_hashes=state.has_foreign_hashes)

    async def write_key_uses(self) -> None:
        """Writes the last use of each key that was read since the last call, which a key in use is every five seconds."""
        uses, self._key_uses = self._key_uses, {}
        if not uses:
            return
        try:
            await self._store.note_key_uses(uses)
        except ServiceError:
            self._key_uses = uses | self._key_uses
            raise

    def forget_all(self) -> None:
        """The next request reads the stored project again."""
        for cache in self._caches:
            cache.clear()

    def forget_with(self, cache: Cache[Any]) -> None:
        """`cache` holds values derived from projects: it is cleared with them."""
        self._caches.append(cache)

    def read_at(self, project: Project) -> float:
        """When it was found, by the clock of caches; long ago, where there is another one by now."""
        if self._by_id.get(project.id) is not project:
            return -inf
        return self._by_id.read_at(project.id) or -inf

    async def default(self) -> Project | None:
        """The project of a request that names none: DEFAULT_PROJECT_ID, else the only one there is, else None.

        Raises ProjectNotFound when DEFAULT_PROJECT_ID names no project.
        """
        project_id = self._default_id or await self._store.only_id()
        return await self.by_id(project_id) if project_id else None

    async def allow_origin(self, origin: str) -> bool:
        """True if any project lists `origin`: a preflight carries no credential that would name one."""
        return await self._origins.get_or_load(origin, partial(self._store.allow_origin, origin))

    def opened(self, record: dict[str, Any]) -> Project:
        """A stored project with its secrets opened. Raises ConfigurationError under another SECRET_KEY."""
        try:
            return self._open(record)
        except InvalidConfiguration as error:
            # The fault is in the stored record, and no client of the project can mend it.
            raise ConfigurationError(error.detail) from None

    def _open(self, record: dict[str, Any]) -> Project:
        project_id = record["_id"]
        settings = {
            name: self._secret_box.open(value, f"{project_id}/{name}") if name in SECRET_SETTINGS else value
            for name, value in record["settings"].items()
        }
        return Project(
            id=project_id,
            name=record["name"],
            settings=read_project_settings(settings),
            signing_key=self._open_key(project_id, record["signing_key"]),
            database=self._databases.project(project_id),
            created_at=record["created_at"],
            other_keys=tuple(self._open_key(project_id, sealed) for sealed in _other_keys(record)),
            signer_keys={name: self._open_signer(project_id, name, each) for name, each in _signers(record)},
            providers={name: self._open_provider(project_id, name, each) for name, each in _providers(record)},
        )

    def _open_signer(self, project_id: str, name: str, sealed: str) -> bytes:
        return b64decode(self._secret_box.open(sealed, place_of_signer(project_id, name)))

    def _open_provider(self, project_id: str, name: str, record: dict[str, Any]) -> Provider:
        values = {
            key: self._secret_box.open(value, f"{project_id}/{name}/{key}") if key in PROVIDER_SECRETS else value
            for key, value in record["settings"].items()
        }
        return read_provider(name, record["preset"], values)

    def _open_key(self, project_id: str, sealed: str) -> ECKey:
        return ECKey.import_key(json.loads(self._secret_box.open(sealed, f"{project_id}/signing_key")))


def _weigh(project: Project) -> int:
    parts = len(project.other_keys) + len(project.providers)
    return BYTES_OF_PROJECT + BYTES_OF_PART * parts + 2 * len(repr(project.settings))


def _providers(record: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """By the time at which each was first set."""
    return sorted(record.get("providers", {}).items(), key=lambda item: item[1]["created_at"])


def place_of_signer(project_id: str, name: str) -> str:
    """The place that a signer key is sealed for."""
    return f"{project_id}/signer_keys/{name}"


def _signers(record: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted(record.get("signer_keys", {}).items())


def _other_keys(record: dict[str, Any]) -> list[str]:
    """Sealed: the one that will sign, and those that did and whose tokens may still live."""
    following, moment = record.get("next_signing_key"), now()
    live = [each["sealed"] for each in record.get("previous_signing_keys", ()) if each["until"] > moment]
    return [*([following["sealed"]] if following else []), *live]
