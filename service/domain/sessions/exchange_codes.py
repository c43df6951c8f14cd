"""Codes in place of tokens in a URL: only the page that began the sign-in can exchange one."""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from datetime import timedelta

from service.domain.projects.lookup import Project
from service.errors import InvalidCode
from service.schema.values import now
from service.storage.sign_in_codes import SignInCode, SignInCodes
from service.storage.users import Identity

LIFE = timedelta(seconds=60)
RANDOM_BYTES = 32
# Apart from the names of sign-ins that were begun, which are kept at the same place.
PREFIX = "code:"


class ExchangeCodes:
    """A code works once, for LIFE, in one project, with the verifier of its challenge (RFC 7636, S256)."""

    def __init__(self, store: SignInCodes) -> None:
        self._store = store

    async def issue(self, project: Project, user_id: str, version: int, *, amr: tuple[str, ...], challenge: str) -> str:
        """A code for a user who was recognized just now. `version` is the user's, read before."""
        code, id_ = _new_code()
        end = now() + LIFE
        await self._store.insert(SignInCode(id_, project.id, challenge, end, user_id, version, amr))
        return code

    async def issue_for_mail(self, project: Project, flow_id: str, *, challenge: str) -> str:
        """A code for the visitor of a mail's link, which may be a program."""
        code, id_ = _new_code()
        await self._store.insert(SignInCode(id_, project.id, challenge, now() + LIFE, flow_id=flow_id))
        return code

    async def issue_for_link(self, project: Project, user_id: str, identity: Identity, challenge: str) -> str:
        """A code for a user that wants to link this identity. It is good for no sign-in."""
        code, id_ = _new_code()
        end = now() + LIFE
        await self._store.insert(SignInCode(id_, project.id, challenge, end, user_id, identity=identity))
        return code

    async def redeem(self, project: Project, code: str, verifier: str | None) -> SignInCode:
        """The sign-in a code was issued for. The code is spent by this, with any outcome. Raises InvalidCode."""
        found = await self._take(project, code, verifier)
        if found.identity is not None:
            raise InvalidCode
        return found

    async def redeem_link(self, project: Project, code: str, verifier: str, user_id: str) -> Identity:
        """The identity that this user asked for. The code is spent by this, with any outcome. Raises InvalidCode."""
        found = await self._take(project, code, verifier)
        # A user lured into another user's flow links nothing to the own account, and nothing to the other one.
        if found.identity is None or found.user_id != user_id:
            raise InvalidCode
        return found.identity

    async def _take(self, project: Project, code: str, verifier: str | None) -> SignInCode:
        found = await self._store.take(_digest(code), project_id=project.id, moment=now())
        if found is None or not is_verifier(verifier, found.challenge):
            raise InvalidCode
        return found


def is_verifier(verifier: str | None, challenge: str) -> bool:
    """True if `challenge` was made of `verifier` (RFC 7636 section 4.6). A sign-in without a challenge has no verifier.

    Only a link that a server made and handed over begins without one.
    """
    if not challenge:
        return verifier is None
    digest = hashlib.sha256((verifier or "").encode(errors="replace")).digest()
    made = urlsafe_b64encode(digest).decode().rstrip("=")
    return verifier is not None and hmac.compare_digest(made.encode(), challenge.encode())


def _new_code() -> tuple[str, str]:
    """A code, and its id."""
    code = secrets.token_urlsafe(RANDOM_BYTES)
    return code, _digest(code)


def _digest(code: str) -> str:
    return PREFIX + hashlib.sha256(code.encode(errors="replace")).hexdigest()
