"""Codes that stand for tokens where a URL would carry them: a page that began the sign-in exchanges one, and nobody else."""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from datetime import timedelta

from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Client, Grant, Sessions
from service.errors import InvalidCode
from service.schema.values import now
from service.storage.sign_in_codes import SignInCode, SignInCodes
from service.storage.users import User

LIFE = timedelta(seconds=60)
RANDOM_BYTES = 32
# Apart from the names of sign-ins that were begun, which are kept at the same place.
PREFIX = "code:"


class ExchangeCodes:
    """A code works once, for LIFE, in one project, with the verifier of its challenge (RFC 7636, S256)."""

    def __init__(self, store: SignInCodes, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    async def issue(self, project: Project, user_id: str, version: int, *, amr: tuple[str, ...], challenge: str) -> str:
        """A code for a user who was recognized just now. `version` is the user's, read before."""
        code = secrets.token_urlsafe(RANDOM_BYTES)
        await self._store.insert(
            SignInCode(
                id=_digest(code),
                project_id=project.id,
                user_id=user_id,
                version=version,
                amr=amr,
                challenge=challenge,
                expires_at=now() + LIFE,
            )
        )
        return code

    async def exchange(self, project: Project, code: str, verifier: str | None, client: Client) -> tuple[User, Grant]:
        """Opens the session of a code, which is spent by this, whatever happens.

        Raises InvalidCode, also where the user's sessions were ended meanwhile, and what `Sessions.open` raises.
        """
        found = await self._store.take(_digest(code), project_id=project.id, moment=now())
        if found is None or not is_verifier(verifier, found.challenge):
            raise InvalidCode
        credentials = await project.users.find_own_credentials(found.user_id)
        if credentials is None or credentials.user.version != found.version:
            raise InvalidCode
        user, state = credentials.user, credentials.state
        return user, await self._sessions.open(project, user.id, user.version, client, state=state, amr=found.amr)


def is_verifier(verifier: str | None, challenge: str) -> bool:
    """Whether `challenge` was made of `verifier` (RFC 7636 section 4.6)."""
    digest = hashlib.sha256((verifier or "").encode(errors="replace")).digest()
    made = urlsafe_b64encode(digest).decode().rstrip("=")
    return verifier is not None and hmac.compare_digest(made.encode(), challenge.encode())


def _digest(code: str) -> str:
    return PREFIX + hashlib.sha256(code.encode(errors="replace")).hexdigest()
