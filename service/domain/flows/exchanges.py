"""Codes that a browser carries to an app in an address. Only the app that asked can exchange one (PKCE, RFC 7636)."""

import base64
import hashlib
import hmac
from datetime import timedelta

from service.domain.flows.proofs import MAX_TOKEN, hash_token, new_proofs
from service.domain.projects.lookup import Project
from service.errors import InvalidCode
from service.schema.values import now
from service.storage.client import Document
from service.storage.flows import FlowStore, new_record

PURPOSE = "exchange"
LIFE = timedelta(seconds=60)


class Exchanges:
    """A code is good once, for LIFE, in its project."""

    def __init__(self, store: FlowStore) -> None:
        self._store = store

    async def issue(self, project: Project, challenge: str, state: Document) -> str:
        """A code for `state`, which names no secret."""
        proofs, moment = new_proofs(), now()
        record = new_record(
            proofs.flow_id,
            project_id=project.id,
            purpose=PURPOSE,
            account="",
            created_at=moment,
            expires_at=moment + LIFE,
        )
        await self._store.insert(record | {"link": hash_token(proofs.token), "challenge": challenge, "state": state})
        return proofs.token

    async def redeem(self, project: Project, code: str, verifier: str | None) -> Document:
        """The `state` of the code, which is spent by this, also where the verifier is wrong. Raises InvalidCode."""
        if len(code) > MAX_TOKEN:
            raise InvalidCode
        match: Document = {"link": hash_token(code), "project_id": project.id, "purpose": PURPOSE}
        record = await self._store.take(match, now())
        if record is None or verifier is None or not _fits(verifier, record["challenge"]):
            raise InvalidCode
        state: Document = record["state"]
        return state


def _fits(verifier: str, challenge: str) -> bool:
    """By the method S256."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(digest, challenge.encode())
