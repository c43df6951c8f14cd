"""The answer to a sign-in."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from service.domain.sessions.sessions import Grant


class Granted(TypedDict):
    access_token: str
    token_type: Literal["bearer"]
    expires_in: NotRequired[Annotated[int, Field(description="Seconds; where the project has refresh tokens")]]
    refresh_token: NotRequired[Annotated[str, Field(description="Where the project has refresh tokens")]]


def grant_view(grant: Grant) -> Granted:
    view: Granted = {"access_token": grant.access_token, "token_type": "bearer"}
    if grant.refresh_token is None or grant.expires_in is None:
        return view
    return {**view, "expires_in": grant.expires_in, "refresh_token": grant.refresh_token}
