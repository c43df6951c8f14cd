"""Operators, their sessions and tokens as answers."""

from importlib.metadata import version

from service.domain.operators.invitations import OperatorInvitation
from service.domain.operators.operator import Operator, OperatorSession, SessionCaller
from service.domain.operators.tokens import OperatorToken
from service.domain.permissions import list_access
from service.services import Services
from service.storage.operator_sessions import FULL
from service.web.operators.bodies import (
    CheckedInvitation,
    ConsoleSession,
    Me,
    NewInvitation,
    OpenInvitation,
    OperatorView,
    TokenView,
)


async def me_view(caller: SessionCaller, services: Services) -> Me:
    """The caller, and what it may do; nothing before its sign-in is complete."""
    session, operators = caller.session, services.operators
    idle_until = min(session.expires_at, session.last_seen_at + operators.sessions.idle)
    is_full = session.stage == FULL
    return {
        "operator": operator_view(caller.operator, session.last_seen_at),
        "stage": session.stage,  # type: ignore[typeddict-item]
        "access": list_access(caller.operator.roles) if is_full else {},  # type: ignore[typeddict-item]
        "expires_at": session.expires_at,
        "idle_until": idle_until if is_full else session.expires_at,
        "confirmed_until": session.confirmed_until,
        "deployment": {
            "id": await operators.deployment_id(),
            "version": version("auth-collections"),
            "base_url": operators.rules.base_url,
            "has_smtp": operators.rules.has_smtp,
        },
    }


def operator_view(operator: Operator, last_seen_at: object = None) -> OperatorView:
    """`last_seen_at` is that of the session, where only that was read."""
    factor = operator.factor
    return {
        "id": operator.id,
        "email": operator.email,
        "name": operator.name,
        "roles": dict(operator.roles),
        "factors": [{"type": "totp", "created_at": factor.created_at, "recovery_codes_left": factor.codes_left}]
        if factor
        else [],
        "disabled": operator.disabled,
        "created_at": operator.created_at,
        "last_seen_at": last_seen_at or operator.last_seen_at,  # type: ignore[typeddict-item]
    }


def session_view(session: OperatorSession, own: str) -> ConsoleSession:
    """`own` is the id of the session that asks."""
    return {
        "id": session.id,
        "created_at": session.created_at,
        "last_seen_at": session.last_seen_at,
        "ip": session.ip,
        "user_agent": session.user_agent,
        "current": session.id == own,
    }


def token_view(token: OperatorToken) -> TokenView:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": list(token.scopes),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
    }


def new_invitation_view(invitation: OperatorInvitation) -> NewInvitation:
    return {"id": invitation.id, "link": invitation.link or "", "expires_at": invitation.expires_at}


def invitation_view(invitation: OperatorInvitation) -> OpenInvitation:
    return {"id": invitation.id, **checked_view(invitation), "created_at": invitation.created_at}


def checked_view(invitation: OperatorInvitation) -> CheckedInvitation:
    return {
        "kind": invitation.kind,
        "email": invitation.email,
        "roles": dict(invitation.roles),
        "expires_at": invitation.expires_at,
    }
