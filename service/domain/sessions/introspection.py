"""Introspection: the claims of a user token and whether it is in force, for servers that do not verify it (RFC 7662)."""

from typing import Any

from service.domain.projects.lookup import Project
from service.domain.sessions.access_tokens import Tokens, caller_of
from service.errors import InvalidToken
from service.storage.users import StoredUser

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
