"""User tokens: JWTs (RFC 7519) signed with ES256 by the project's own key, their verification and introspection (RFC 7662)."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from secrets import token_urlsafe
from typing import Any

from joserfc import jwt
from joserfc.errors import InvalidClaimError, JoseError
from joserfc.jwk import ECKey
from joserfc.jwt import JWTClaimsRegistry
from joserfc.util import urlsafe_b64decode

from service.bounds import MAX_KNOWN_SESSIONS, MAX_KNOWN_TOKENS
from service.domain.access.caller import UserCaller
from service.domain.cache import Cache
from service.domain.projects.lookup import CACHE_SECONDS, Project, Projects
from service.domain.sessions.sightings import Sightings
from service.errors import InvalidToken, ProjectNotFound
from service.storage.sessions import Session
from service.storage.users import StoredUser

ALGORITHM = "ES256"
# The clocks of two hosts differ; a token of the one that is ahead is good at the other.
ISSUED_LEEWAY_SECONDS = 60
# Our tokens have about 400 characters, and 1,070 more with the largest claims; longer texts are refused unread.
MAX_TOKEN = 3_072
# Bytes in memory of a caller, beside the text of the token.
BYTES_OF_CALLER = 400
# It never changes whose a session is.
OWNER_SECONDS = 86_400
# The kind of those who act as a user, before their id.
OPERATOR = "operator:"


class _Claims(JWTClaimsRegistry):
    """The registered claims, with a leeway for the time of issue and none for the end."""

    def validate_iat(self, value: object) -> None:
        """Raises InvalidClaimError for a value that is no number, or further ahead than two clocks differ."""
        if type(value) not in {int, float} or value > self.now + ISSUED_LEEWAY_SECONDS:  # type: ignore[operator]
            raise InvalidClaimError("iat")


class Tokens:
    """Issues and verifies user tokens. `base_url` is the service's base URL.

    `verified` has the callers of tokens that were verified, for as long as what their projects are is remembered: a caller
    of it need not ask again. `owners` has whose session is whose, of all whose tokens were issued or verified here.
    """

    def __init__(self, base_url: str, projects: Projects, sightings: Sightings) -> None:
        self.base_url = base_url
        self._projects = projects
        self._sightings = sightings
        self.verified: Cache[UserCaller] = Cache(MAX_KNOWN_TOKENS, CACHE_SECONDS, _weigh)
        projects.forget_with(self.verified)
        self.owners: Cache[str] = Cache(MAX_KNOWN_SESSIONS, OWNER_SECONDS)

    def issue(
        self, project: Project, session: Session, *, issued: datetime, until: datetime, custom: Mapping[str, Any]
    ) -> str:
        """A token of the session. With `custom` claims as its `claims`, if any."""
        self.owners.put(session.id, session.user_id)
        claims: dict[str, Any] = {
            "iss": self._issuer(project),
            "aud": project.id,
            "sub": session.user_id,
            "iat": unix_seconds(issued),
            "exp": unix_seconds(until),
            "jti": token_urlsafe(16),
            "ver": session.version,
            "sid": session.id,
            "aal": session.aal,
            "amr": session.amr,
            "auth_time": unix_seconds(session.auth_time),
        }
        if session.operator_id is not None:
            # RFC 8693 section 4.1: the one who acts.
            claims["act"] = {"sub": OPERATOR + session.operator_id}
        if session.is_anonymous:
            claims["anonymous"] = True
        if custom:
            claims["claims"] = custom
        if project.settings.has_refresh_tokens:
            claims["rc"] = session.count
        header = {"alg": ALGORITHM, "kid": project.signing_key.kid, "typ": "JWT"}
        return jwt.encode(header, claims, project.signing_key, algorithms=[ALGORITHM])

    def _issuer(self, project: Project) -> str:
        return project_issuer(self.base_url, project) if project.settings.has_own_issuer else self.base_url

    async def verify(self, token: str) -> UserCaller:
        """The caller of a genuine token that has not expired. Raises InvalidToken for every other text."""
        project, claims = await self.read(token)
        caller = caller_of(project, claims)
        self._sightings.note(project, claims)
        if caller.sid is not None:
            self.owners.put(caller.sid, caller.user_id)
        # A token about to expire is verified each time, so that its last second is its last.
        if claims["exp"] - time.time() > CACHE_SECONDS:
            # The token's claims stay true; its project may have changed since it was read.
            self.verified.put(token, caller, read_at=self._projects.read_at(project))
        return caller

    async def read(self, token: str) -> tuple[Project, dict[str, Any]]:
        """The project and the claims of a genuine token that has not expired. Raises InvalidToken for every other text.

        Only `kid` is read of an unverified header, and only to find the project (RFC 8725 sections 3.1, 3.8 and 3.10).
        """
        kid = _key_id(token)
        try:
            project = await self._projects.by_id(kid.partition(".")[0])
        except ProjectNotFound:
            raise InvalidToken from None
        key = project.find_key(kid)
        if key is None:
            raise InvalidToken
        return project, self._claims(token, project, key)

    def _claims(self, token: str, project: Project, key: ECKey) -> dict[str, Any]:
        required = _Claims(
            leeway=0,
            # Tokens from before a change of the setting are good until they expire.
            iss={"essential": True, "values": [self.base_url, project_issuer(self.base_url, project)]},
            aud={"essential": True, "value": project.id},
            sub={"essential": True},
            exp={"essential": True},
            ver={"essential": True},
        )
        try:
            claims = jwt.decode(token, key, algorithms=[ALGORITHM]).claims
            required.validate(claims)
        except (JoseError, ValueError, TypeError):
            raise InvalidToken from None
        if type(claims["sub"]) is not str or type(claims["ver"]) is not int or not _is_of_session(claims):
            raise InvalidToken
        return claims


def caller_of(project: Project, claims: Mapping[str, Any]) -> UserCaller:
    """The caller that a verified token's claims name."""
    return UserCaller(
        project,
        claims["sub"],
        claims["ver"],
        claims.get("sid"),
        claims.get("auth_time", 0),
        claims.get("aal", 1),
        claims["act"]["sub"].removeprefix(OPERATOR) if "act" in claims else None,
        claims.get("anonymous") is True,
    )


def _is_of_session(claims: Mapping[str, Any]) -> bool:
    """True if a token's claims about its session have the right types.

    A token from before there were sessions has none.
    """
    return type(claims.get("sid", "")) is str and all(
        type(claims.get(name, 0)) is int for name in ("auth_time", "aal", "rc")
    )


def _weigh(_: UserCaller) -> int:
    return BYTES_OF_CALLER


def unix_seconds(moment: datetime) -> int:
    """Whole seconds of a time as it is stored."""
    return int(moment.replace(tzinfo=UTC).timestamp())


def _key_id(token: str) -> str:
    """The `kid` of a token's header, unverified."""
    try:
        if len(token) > MAX_TOKEN:
            raise ValueError(MAX_TOKEN)
        kid = json.loads(urlsafe_b64decode(token.partition(".")[0].encode("ascii")))["kid"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidToken from None
    if not isinstance(kid, str):
        raise InvalidToken
    return kid


def project_issuer(base_url: str, project: Project) -> str:
    """The issuer of a project that has its own (`TOKEN_ISSUER`)."""
    return f"{base_url}/auth-collections/issuer/{project.id}"


def public_keys(project: Project) -> dict[str, Any]:
    """The project's JWK Set (RFC 7517 section 5): what anyone needs to verify its tokens, and nothing else."""
    return {"keys": [key.as_dict(private=False) for key in (project.signing_key, *project.other_keys)]}


# Claims of a token that an answer repeats; those from before there were sessions have no `sid`.
REPEATED = ("iss", "sub", "aud", "exp", "iat", "jti", "sid", "aal", "amr", "auth_time", "act")


async def introspect(tokens: Tokens, project: Project, token: str) -> tuple[dict[str, Any], StoredUser] | None:
    """The claims and the user of a token of `project` with which its user can be read now; None for every other text."""
    try:
        issued_in, claims = await tokens.read(token)
    except InvalidToken:
        return None
    if issued_in.id != project.id:
        return None
    caller = caller_of(project, claims)
    user = await project.users.find_profile(caller.user_id)
    return (claims, user) if user is not None and caller.is_in_force(user) else None
