"""The keys that sign a project's user tokens: one that signs, one that will, and those that did while their tokens
live.

A key is published before it signs, so that verifiers that cache the public keys know it by then. It is accepted from
then on, so that a worker with an older cached project takes the tokens of a worker with a newer one.
"""

import asyncio
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from joserfc.jwk import ECKey

from service.bounds import MAX_SIGNING_KEYS
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import compare
from service.domain.projects.lookup import CACHE_SECONDS, Projects
from service.domain.projects.secrets import SecretBox
from service.domain.projects.settings import LONGEST_TOKEN
from service.errors import Conflict, ProjectNotFound
from service.schema.values import now
from service.storage.client import ClientSession, Document
from service.storage.projects import ProjectStore

# The answer with the public keys may be kept for half of that.
PUBLISHED_FOR = timedelta(minutes=10)
# The time for which a worker remembers a project, and a second for its clock.
KNOWN_EVERYWHERE = timedelta(seconds=CACHE_SECONDS + 1)
# A worker may sign with a key for some seconds more, and clocks differ.
TOKENS_LIVE = timedelta(seconds=LONGEST_TOKEN, minutes=10)


@dataclass(frozen=True, slots=True)
class Rotated:
    """The ids of the keys afterwards."""

    current: str
    next: str
    previous: tuple[str, ...]


class SigningKeys:
    """The operation of `auth-collections project rotate-signing-key`."""

    def __init__(self, store: ProjectStore, secret_box: SecretBox, projects: Projects, audit: Audit) -> None:
        self._audit = audit
        self._store = store
        self._secret_box = secret_box
        self._projects = projects

    async def rotate(self, project_id: str, *, at_once: bool) -> Rotated:
        """Signs with the next key from now on, and publishes another one to follow it.

        Raises Conflict if the next key was published less than ten minutes ago; `at_once` waits only until every worker
        knows it. If there is no next key, this call publishes one. Raises ProjectNotFound.
        """
        record = await self._find(project_id)
        published_at = (record.get("next_signing_key") or await self._publish(record))["published_at"]
        age = now() - published_at
        if not at_once and age < PUBLISHED_FOR:
            left = (PUBLISHED_FOR - age).total_seconds()
            msg = (
                f"The next key was published {age.total_seconds():.0f} s ago; rotate in {left:.0f} s, or now with --now"
            )
            raise Conflict(msg)
        if age < KNOWN_EVERYWHERE:
            await asyncio.sleep((KNOWN_EVERYWHERE - age).total_seconds())
        return await self._switch(project_id, published_at)

    async def _find(self, project_id: str) -> Document:
        record = await self._store.find(project_id)
        if record is None:
            raise ProjectNotFound(f"There is no project {project_id}")
        return record

    async def _publish(self, record: Document) -> Document:
        """The record of the next key: the one there is, or else a new one."""
        following = self._new_key(record["_id"])

        async def decide(_: ClientSession, stored: Document) -> Document | None:
            return None if "next_signing_key" in stored else {"$set": {"next_signing_key": following}}

        await self._store.change(record["_id"], decide)
        self._projects.forget_all()
        published: Document = (await self._find(record["_id"]))["next_signing_key"]
        return published

    async def _switch(self, project_id: str, published_at: datetime) -> Rotated:
        """Raises Conflict if another rotation comes first."""
        following, rotated = self._new_key(project_id), list[Rotated]()

        async def decide(session: ClientSession, record: Document) -> Document:
            if record.get("next_signing_key", {}).get("published_at") != published_at:
                raise Conflict("Another command rotated the keys at the same time; nothing was changed")
            changed = _rotate(record, following)
            before, after = self._describe(record), self._describe({**record, **changed})
            rotated.append(after)
            changes = compare(asdict(before), asdict(after), path=("signing_keys",))
            target = Target("project", project_id, record["name"])
            await self._audit.record(session, Act(Action.SIGNING_KEY_ROTATED, target, project_id, changes))
            return {"$set": changed}

        await self._store.change(project_id, decide)
        self._projects.forget_all()
        return rotated[-1]

    def _describe(self, record: Document) -> Rotated:
        project = self._projects.opened(record)
        kids = [str(key.kid) for key in project.other_keys]
        return Rotated(str(project.signing_key.kid), kids[0], tuple(kids[1:]))

    def _new_key(self, project_id: str) -> Document:
        sealed = self._secret_box.seal(new_signing_key(project_id), f"{project_id}/signing_key")
        return {"sealed": sealed, "published_at": now()}


def _rotate(record: Document, following: Document) -> Document:
    """The changes of the record. Raises Conflict where the tokens of too many earlier keys live."""
    moment = now()
    previous = [each for each in record.get("previous_signing_keys", ()) if each["until"] > moment]
    if len(previous) >= MAX_SIGNING_KEYS:
        until = f"{min(each['until'] for each in previous):%Y-%m-%d}"
        raise Conflict(f"The tokens of {len(previous)} earlier keys still live; rotate after {until}")
    return {
        "signing_key": record["next_signing_key"]["sealed"],
        "next_signing_key": following,
        "previous_signing_keys": [*previous, {"sealed": record["signing_key"], "until": moment + TOKENS_LIVE}],
    }


def new_signing_key(project_id: str) -> str:
    """A P-256 key pair as a JWK (RFC 7517). Its `kid` begins with the project's id: so a token names its project."""
    key = ECKey.generate_key("P-256", {"kid": f"{project_id}.{secrets.token_hex(4)}", "use": "sig", "alg": "ES256"})
    return json.dumps(key.as_dict(private=True))
