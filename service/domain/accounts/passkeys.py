"""Passkeys: the options for browsers, and the judgement of their answers. Each is asked within a flow, once.

The challenge of a flow is made of its id, which is random and known to whoever was asked alone: so nothing more is
stored, and what is signed for one flow is good in no other.
"""

import asyncio
import hashlib
import hmac
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from service.domain.projects.lookup import Project
from service.errors import ConfigurationMissing, InvalidCode
from service.passkeys.answers import AnswerRefused, Assertion, Passkey, PasskeyRegistration, RelyingParty, Use
from service.passkeys.options import PasskeyOwner, creation_options, request_options
from service.storage.passkeys import PasskeyHolder, list_passkeys, name_user
from service.storage.users import StoredUser

if TYPE_CHECKING:
    from types import ModuleType


# HKDF purpose of the key that challenges are made with.
PURPOSE = "challenges of passkeys"


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that a page hands to its browser, as `publicKey`, and the flow with which it brings the answer."""

    flow_id: str
    options: dict[str, Any]


class Passkeys:
    """`key` is for the challenges."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._judge: ModuleType | None = None

    async def ask_to_create(self, project: Project, user: StoredUser, flow_id: str) -> dict[str, Any]:
        """Raises ConfigurationMissing, InvalidCode if the user is gone."""
        party, database = find_party(project), project.database
        handle = await name_user(database, user.id)
        if handle is None:
            raise InvalidCode
        existing = [each.credential_id for each in await list_passkeys(database, user.id)]
        owner = PasskeyOwner(handle, user.name)
        return creation_options(party, owner, self._challenge(project, flow_id), existing)

    async def ask_to_use(self, project: Project, user_id: str | None, flow_id: str) -> dict[str, Any]:
        """Options for one of the user's passkeys; for any user's while the user is unknown.

        Raises ConfigurationMissing.
        """
        party, allowed = find_party(project), list[bytes]()
        if user_id is not None:
            allowed = [each.credential_id for each in await list_passkeys(project.database, user_id)]
        return request_options(party, self._challenge(project, flow_id), allowed)

    async def register(self, project: Project, flow_id: str, answer: PasskeyRegistration) -> Passkey:
        """The new passkey. Raises Refused, ConfigurationMissing."""
        party, judge = find_party(project), await self._load()
        passkey: Passkey = judge.read_registration(party, self._challenge(project, flow_id), answer)
        return passkey

    async def judge(self, project: Project, flow_id: str, holder: PasskeyHolder, answer: Assertion) -> Use:
        """Raises Refused, ConfigurationMissing."""
        # A device may leave it out if the options named the passkeys.
        if answer.user_handle is not None and answer.user_handle != holder.handle:
            raise AnswerRefused("another user")
        party, judge = find_party(project), await self._load()
        use: Use = judge.judge_assertion(party, self._challenge(project, flow_id), holder.passkey, answer)
        return use

    async def _load(self) -> "ModuleType":
        """The judge, and fido2 with it, which takes a moment the first time: in a thread, so that no other request
        waits.
        """
        if self._judge is None:
            self._judge = await asyncio.to_thread(import_module, "service.passkeys.verification")
        return self._judge

    def _challenge(self, project: Project, flow_id: str) -> bytes:
        return hmac.new(self._key, f"passkey/{project.id}/{flow_id}".encode(errors="replace"), hashlib.sha256).digest()


def find_party(project: Project) -> RelyingParty:
    """Raises ConfigurationMissing."""
    settings = project.settings
    if settings.webauthn_rp_id is None:
        raise ConfigurationMissing("WEBAUTHN_RP_ID key missing")
    origins = settings.webauthn_origins or (f"https://{settings.webauthn_rp_id}",)
    return RelyingParty(settings.webauthn_rp_id, project.name, frozenset(origins))
