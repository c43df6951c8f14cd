"""The texts of a project's contract: made in a thread, one at a time, and kept under what they were made of.

Each request asks MongoDB for the state of the schemas and rules, and no request waits for a text that is kept already.
"""

import asyncio
import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.bounds import MAX_CONTRACT_BYTES, MAX_CONTRACTS_WAITING, MAX_KNOWN_CONTRACTS
from service.contract.model import Contract, View
from service.contract.views import make_contract
from service.contract.written import TOO_LARGE
from service.domain.access.control import AccessControl
from service.domain.background import background_threads
from service.domain.cache import Cache
from service.domain.profiles.definition import DeclaredProfile
from service.domain.profiles.profiles import Profiles
from service.domain.projects.lookup import Project
from service.domain.shares import Turns
from service.errors import CollectionNotFound, TooLarge, Unavailable
from service.rules.ruleset import Rules
from service.schema.fields import build
from service.schema.profiles import declared_fields
from service.storage.definitions import Definitions
from service.storage.rules import find_revision

Writer = Callable[[Contract], bytes]
# A text belongs to the state that it was made of, and is of use as long as that lasts.
KEPT_SECONDS = 3_600
# Readings of schemas and rules before the project counts as one that is being changed all the time.
READINGS = 3
# An answer of MongoDB has at most 16 MB, and the loop does nothing else while it reads one.
SCHEMAS_AT_ONCE = 4
BYTES_OF_TEXT = 500


@dataclass(frozen=True, slots=True)
class Text:
    """A text, plain and packed with gzip, under the strong entity tag of the plain one (RFC 9110 section 8.8.3).

    A text that is too large is kept as its `refusal`, so that it is not made for each request.
    """

    plain: bytes
    packed: bytes
    etag: str
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class WantedText:
    """A text that is asked for: `kind` distinguishes what `write` makes of the contract of a view.

    `names` are the collections that must be there.
    """

    kind: str
    view: View
    write: Writer
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProjectState:
    """The schemas and rules of a project as they were at one moment, and its profile, which is at most 5 s older."""

    profile: DeclaredProfile
    schemas: Mapping[str, Mapping[str, Any]]
    rules: Rules


class Contracts:
    """The contracts of all projects."""

    def __init__(self, access: AccessControl, profiles: Profiles) -> None:
        self._access = access
        self._profiles = profiles
        self._thread = background_threads(1, "contracts")
        self._turns = Turns(1, waiting=MAX_CONTRACTS_WAITING, retry_after=1)
        self._texts: Cache[Text] = Cache(MAX_KNOWN_CONTRACTS, KEPT_SECONDS, _weigh)

    async def find(self, project: Project, wanted: WantedText) -> Text:
        """Raises CollectionNotFound, TooLarge, Busy, and what the writer raises."""
        database = project.database.outside
        stamps, revision = await asyncio.gather(Definitions(database).stamps(), find_revision(database))
        if wanted.names - stamps.keys():
            raise CollectionNotFound
        profile = await self._profiles.find(project)
        state = hashlib.sha256(repr((stamps, revision, profile.version)).encode()).hexdigest()
        key = f"{project.id}/{wanted.kind}/{wanted.view.value}/{state}"
        text = await self._texts.get_or_load(key, partial(self._make, project, wanted, profile))
        if text.refusal:
            raise TooLarge(text.refusal)
        return text

    async def read(self, project: Project, view: View) -> Contract:
        """The contract of a project as it is now."""
        return _contract_of(await self._read(project, await self._profiles.find(project)), view)

    async def _make(self, project: Project, wanted: WantedText, profile: DeclaredProfile) -> Text:
        async with self._turns.take(project.id):
            state = await self._read(project, profile)
            return await asyncio.get_running_loop().run_in_executor(self._thread, write_text, state, wanted)

    async def _read(self, project: Project, profile: DeclaredProfile) -> ProjectState:
        """The schemas and the rules of one moment: both are the same before the schemas are read and after.

        A change of a schema that rules name changes the revision of the rules.
        """
        definitions = Definitions(project.database.outside)
        for _ in range(READINGS):
            compiled, stamps = await self._access.refresh(project), await definitions.stamps()
            schemas = await _read_schemas(definitions, list(stamps))
            if (
                await find_revision(project.database.outside) == compiled.version
                and await definitions.stamps() == stamps
            ):
                return ProjectState(profile, schemas, compiled.rules)
        raise Unavailable

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


async def _read_schemas(definitions: Definitions, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The schemas of these collections, a few at once."""
    found: dict[str, Mapping[str, Any]] = {}
    for start in range(0, len(names), SCHEMAS_AT_ONCE):
        found |= await definitions.schemas(names[start : start + SCHEMAS_AT_ONCE])
    return found


def _contract_of(state: ProjectState, view: View) -> Contract:
    fields = {name: build(schema) for name, schema in state.schemas.items()}
    profile, additional = state.profile.schema, state.profile.additional
    users = declared_fields(profile, additional=additional)
    return make_contract(users, fields, state.rules, view, additional=additional)


def write_text(state: ProjectState, wanted: WantedText) -> Text:
    """The text of a state, or its refusal. Raises what the writer raises."""
    try:
        plain = wanted.write(_contract_of(state, wanted.view))
    except TooLarge as error:
        return Text(b"", b"", "", error.detail)
    if len(plain) > MAX_CONTRACT_BYTES:
        return Text(b"", b"", "", TOO_LARGE)
    return Text(plain, gzip.compress(plain, 6, mtime=0), f'"{hashlib.sha256(plain).hexdigest()}"')


def _weigh(text: Text) -> int:
    return BYTES_OF_TEXT + len(text.plain) + len(text.packed)
