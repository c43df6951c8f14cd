"""One write for each `Idempotency-Key`, however often it is sent (draft-ietf-httpapi-idempotency-key-header-07).

The answer is kept in the transaction of the write, so the two are there together or not at all, and nothing is ever "in
progress": of two at once the transaction of one fails, and that one finds the answer of the other.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from service.domain.access.caller import OperatorCaller, ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import SecretBox
from service.errors import DuplicateValue, IdempotencyKeyReused, ServiceError, Unavailable
from service.storage.answers import KeptAnswer, KeptAnswers
from service.storage.databases import ProjectDatabase

Outcome = TypeVar("Outcome")
# Called in the transaction of a write, with its database and with its outcome.
Keep = Callable[[ProjectDatabase, Outcome], Awaitable[None]]
# Bytes of the length before each hashed part.
LENGTH_BYTES = 8


# HKDF purpose of the key for the HMACs of writes and their idempotency keys.
PURPOSE = "idempotency"


@dataclass(frozen=True, slots=True)
class KeyedWrite:
    """A write under a client's key: `id` is a MAC of owner and key, `fingerprint` one of the request."""

    project: Project
    id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A 2xx as it is kept: `body` is JSON."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
    is_replayed: bool = False


class Idempotency:
    """Keeps answers, sealed, and gives them again. Writes are named by an HMAC, as a request may hold a password."""

    def __init__(self, secret_box: SecretBox) -> None:
        self._secret_box = secret_box
        self._key = secret_box.derive_key(PURPOSE)

    def identify(self, caller: ProjectCaller, key: str, asked: Sequence[bytes]) -> KeyedWrite:
        """The write that `caller` asks for under `key`; `asked` is its method, its path, its query string and its body."""
        principal, fingerprint = _principal(caller), self._hash(asked)
        # Guests cannot be distinguished. A guest's key includes the request, so that only the same request finds its
        # answer.
        whose = ("guest", fingerprint) if principal is None else (principal,)
        id_ = self._hash([part.encode() for part in (*whose, key)])
        return KeyedWrite(caller.project, id_, fingerprint)

    async def answer_once(
        self,
        write: KeyedWrite,
        work: Callable[[Keep[Outcome]], Awaitable[object]],
        render: Callable[[Outcome], Answer],
        abridge: Callable[[Outcome, Answer], Answer | None],
    ) -> Answer:
        """The outcome of `work`, rendered, or the kept answer of an earlier call. `work` calls `keep` in its transaction.

        `abridge` returns the part of the answer that is kept, or None where nothing is. Raises IdempotencyKeyReused where
        another request had the key, and the errors of `work`, which are not kept.
        """
        if (before := await self._find(write)) is not None:
            return before
        answer = Answer(0, "")

        async def keep(database: ProjectDatabase, outcome: Outcome) -> None:
            nonlocal answer
            answer = render(outcome)
            if (kept := abridge(outcome, answer)) is not None:
                await self._keep(database, write, kept)

        try:
            await work(keep)
        except ServiceError:
            # After any failure, the same write may have succeeded meanwhile, or in this very request.
            if (meanwhile := await self._find(write)) is not None:
                return meanwhile
            raise
        return answer

    async def _keep(self, database: ProjectDatabase, write: KeyedWrite, answer: Answer) -> None:
        """Keeps the answer, in the transaction of `database`. Raises Unavailable where there is one already."""
        body = self._secret_box.seal(answer.body, _place(write))
        kept = KeptAnswer(write.id, write.fingerprint, answer.status, body, answer.headers)
        try:
            await KeptAnswers(database).insert(kept)
        except DuplicateValue:
            raise Unavailable from None

    async def _find(self, write: KeyedWrite) -> Answer | None:
        found = await KeptAnswers(write.project.database).find(write.id)
        if found is None:
            return None
        if not hmac.compare_digest(found.fingerprint, write.fingerprint):
            raise IdempotencyKeyReused
        return Answer(found.status, self._secret_box.open(found.body, _place(write)), found.headers, is_replayed=True)

    def _hash(self, parts: Sequence[bytes]) -> str:
        """Each part with its length before it, so that no two lists of parts are one text."""
        digest = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in parts:
            digest.update(len(part).to_bytes(LENGTH_BYTES))
            digest.update(part)
        return digest.hexdigest()


def _place(write: KeyedWrite) -> str:
    return f"{write.project.id}/kept_answers/{write.id}"


def _principal(caller: ProjectCaller) -> str | None:
    """The owner of the keys; None for a guest, who cannot prove to be the same one as before."""
    match caller:
        case UserCaller(user_id=user_id):
            return f"user/{user_id}"
        case OperatorCaller(admin=admin):
            return f"{admin.actor.kind}/{admin.actor.id}"
        case SecretKeyCaller():
            return "server"
    return None
