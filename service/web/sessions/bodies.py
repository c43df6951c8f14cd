"""What the endpoints of sessions read and answer."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.web.openapi.shapes import Id, Time


class RefreshForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    refresh_token: str


class LogoutForm(BaseModel):
    """Without `refresh_token` the session of the user token ends."""

    model_config = ConfigDict(strict=True, extra="forbid")

    refresh_token: str | None = None


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
    current: Annotated[bool, Field(description="Whether it is the session of this very token")]


class SessionList(TypedDict):
    sessions: list[SessionView]
