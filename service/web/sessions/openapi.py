"""The declarations of sessions: `docs/sessions.md`."""

from service.errors import InvalidRefreshToken, LimitExceeded, SessionNotFound, Unavailable
from service.web.auth.grant import Granted
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse
from service.web.sessions.bodies import LogoutForm, RefreshForm, SessionList

EXAMPLE_REFRESH_TOKEN = "acr_demo_AWbwwaKzxNXm96i5wAAAAAI4mHmYl0zq3nBfZk6cVYhR"  # noqa: S105 - it is forged
EXAMPLE_GRANTED = {
    "access_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRlbW8uMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln",
    "token_type": "bearer",
    "expires_in": 900,
    "refresh_token": EXAMPLE_REFRESH_TOKEN,
}
EXAMPLE_SESSION = {
    "id": shapes.EXAMPLE_ID,
    "created_at": shapes.EXAMPLE_TIME,
    "last_used_at": shapes.EXAMPLE_TIME,
    "expires_at": "2026-02-21T09:30:00.000Z",
    "ip": "192.0.2.1",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "aal": 1,
    "amr": ["pwd"],
    "current": True,
}
SENT_TOKEN = {"a refresh token": {"refresh_token": EXAMPLE_REFRESH_TOKEN}}

REFRESH = Operation(
    id="refresh",
    tag=tags.SESSIONS,
    description="Where the project's `ACCESS_TOKEN_LIFETIME` is less than 30 days. All who send the same token at once are "
    "given the same next one; a token that is used again after the next one was ends the session.",
    body=(Content(type=RefreshForm, examples=SENT_TOKEN),),
    answers=(
        SuccessResponse(
            description="A new user token, and the next refresh token",
            content=(Content(type=Granted, examples={"refreshed": EXAMPLE_GRANTED}),),
        ),
    ),
    errors=(InvalidRefreshToken, LimitExceeded, Unavailable),
)
LOGOUT = Operation(
    id="logout",
    tag=tags.SESSIONS,
    description="The session of `refresh_token`, and that of the user token in `Authorization`; one of them is needed. Tokens "
    "that are dead are answered as others are.",
    body=(Content(type=LogoutForm, examples=SENT_TOKEN),),
    needs_body=False,
    answers=(SuccessResponse(status=204, description="The session has ended"),),
)
LIST = Operation(
    id="listSessions",
    tag=tags.SESSIONS,
    answers=(
        SuccessResponse(
            description="The sessions that can still be used, the newest first",
            content=(Content(type=SessionList, examples={"one": {"sessions": [EXAMPLE_SESSION]}}),),
        ),
    ),
)
END = Operation(
    id="endSession",
    tag=tags.SESSIONS,
    description="For ten minutes after a sign-in or a step-up. Its tokens are refused from the next request on.",
    answers=(SuccessResponse(status=204, description="The session has ended"),),
    errors=(SessionNotFound,),
)
END_OTHERS = Operation(
    id="endOtherSessions",
    tag=tags.SESSIONS,
    description="For ten minutes after a sign-in or a step-up.",
    answers=(SuccessResponse(status=204, description="All others have ended"),),
)
