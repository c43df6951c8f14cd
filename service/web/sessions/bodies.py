"""Bodies and answers of the endpoints of sessions."""

from typing import Annotated, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.storage.sessions import Session
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, Time

EXAMPLE_REFRESH_TOKEN = "acr_demo_AWbwwaKzxNXm96i5wAAAAAI4mHmYl0zq3nBfZk6cVYhR"  # noqa: S105 - it is forged
SENT_TOKEN = {"a refresh token": {"refresh_token": EXAMPLE_REFRESH_TOKEN}}
EXAMPLE_GRANTED = {
    "access_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRlbW8uMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln",
    "token_type": "bearer",
    "expires_in": 900,
    "refresh_token": EXAMPLE_REFRESH_TOKEN,
}
EXAMPLE_SESSION = {
    "id": EXAMPLE_ID,
    "created_at": EXAMPLE_TIME,
    "last_used_at": EXAMPLE_TIME,
    "expires_at": "2026-02-21T09:30:00.000Z",
    "ip": "192.0.2.1",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "aal": 1,
    "amr": ["pwd"],
    "current": True,
}


class RefreshForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    refresh_token: str


class LogoutForm(BaseModel):
    """Without `refresh_token` the session of the user token ends."""

    model_config = ConfigDict(strict=True, extra="forbid")

    refresh_token: str | None = None


class ActorField(TypedDict, total=False):
    """A part of a session's view."""

    actor: Literal["operator"]


class SessionView(TypedDict):
    id: Id
    created_at: Time
    last_used_at: Time
    expires_at: Time
    ip: Annotated[str, Field(description="The address of the sign-in, as limits count it")]
    user_agent: str
    aal: Annotated[int, Field(description="The level that the sign-in reaches: 2 with a second factor")]
    amr: Annotated[
        list[str], Field(description="How the user was recognized: `pwd`, `idp`, `email`; `otp`, `pop`, `rec`")
    ]
    actor: NotRequired[Annotated[Literal["operator"], Field(description="An operator acts as the user")]]
    current: Annotated[bool, Field(description="Whether it is the session of this very token")]


class SessionList(TypedDict):
    sessions: list[SessionView]


ACTOR: tuple[ActorField, ActorField] = ({}, {"actor": "operator"})


def session_view(session: Session, own: str | None) -> SessionView:
    """`own` is the session of whoever asks."""
    return {
        "id": session.id,
        "created_at": session.created_at,
        "last_used_at": session.last_used_at,
        "expires_at": session.expires_at,
        "ip": session.ip,
        "user_agent": session.user_agent,
        "aal": session.aal,
        "amr": list(session.amr),
        "current": session.id == own,
        **ACTOR[session.operator_id is not None],
    }
