# Written by clients/python/unasync from _async: change that.
"""Verifies user tokens in a back end, by the project's public keys."""

import time
from types import TracebackType
from typing import Any, Self

from auth_collections_client._sync import seam
from auth_collections_client._sync.keeper import Keeper
from auth_collections_client._sync.transport import Transport
from auth_collections_client.calls import Settings, read
from auth_collections_client.encoding import segment
from auth_collections_client.errors import CredentialError, TokenError
from auth_collections_client.tokens import (
    ONLINE_SECONDS,
    ONLINE_TOKENS,
    KeySet,
    check_claims,
    list_issuers,
    read_key_id,
    verify_signature,
)


class TokenVerifier:
    """Verifies tokens of one project; make one for the whole program.

    `issuer` is that of the tokens where the service's `BASE_URL` differs from `url`. With `online` the service is asked if
    the session still lives; an answer is remembered for five seconds.
    """

    def __init__(
        self,
        url: str,
        project: str,
        *,
        issuer: str | None = None,
        online: bool = False,
        http: seam.HttpClient | None = None,
    ) -> None:
        self._path = f"/auth-collections/jwks/{segment(project)}"
        self._project = project
        self._issuers = (issuer,) if issuer else list_issuers(url, project)
        self._online = online
        self._transport = Transport(Settings(url, "acp_none"), http, Keeper())
        self._keys = KeySet()
        self._reading = seam.Lock()
        self._alive: dict[str, float] = {}

    def verify(self, token: str) -> dict[str, Any]:
        """Returns the claims of a good token. Raises TokenError, or ServiceError if the service cannot be asked."""
        kid = read_key_id(token)
        claims = verify_signature(token, self._key(kid))
        check_claims(claims, issuers=self._issuers, audience=self._project, now=time.time())
        if self._online:
            self._ask(token)
        return claims

    def _key(self, kid: str) -> Any:
        if self._keys.is_due(kid, time.monotonic()):
            with self._reading:
                if self._keys.is_due(kid, time.monotonic()):
                    self._read_keys()
        if kid not in self._keys.keys:
            raise TokenError("unknown_key", "The key of the token is not one of the project.")
        return self._keys.keys[kid]

    def _read_keys(self) -> None:
        answer = self._transport.send(read(self._path, credential="none", options={}))
        self._keys.replace(answer.body, time.monotonic())

    def _ask(self, token: str) -> None:
        now = time.monotonic()
        if now - self._alive.get(token, float("-inf")) < ONLINE_SECONDS:
            return
        self._alive.pop(token, None)
        call = read("/auth-collections/user", credential="token", token=token, options={})
        try:
            self._transport.send(call)
        except CredentialError:
            raise TokenError("ended", "The session of the token has ended.") from None
        while len(self._alive) >= ONLINE_TOKENS:
            self._alive.pop(next(iter(self._alive)), None)
        self._alive[token] = now

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
