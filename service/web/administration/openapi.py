"""The declarations of administration."""

from service.errors import Busy, EmailInUse, LimitExceeded, UserNotFound
from service.web.accounts.bodies import UserRecord
from service.web.accounts.openapi import EXAMPLE_LOGIN, EXAMPLE_RECORD
from service.web.administration.bodies import LinkForm, LinkView, NewUserForm, PasswordForm, UserChangeForm
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse
from service.web.sessions.bodies import EXAMPLE_SESSION, SessionList

RECORD = Content(type=UserRecord, examples={"a user": EXAMPLE_RECORD})
EXAMPLE_NEW = {
    **EXAMPLE_LOGIN,
    "data": {"name": "Ann"},
    "claims": {"plan": "pro"},
    "email_verified": True,
    "roles": ["editor"],
}

CREATE = Operation(
    id="createUser",
    tag=tags.USERS,
    description="Nobody is signed in by this, and a taken address is a 409.",
    body=(
        Content(
            type=NewUserForm,
            examples={"a user": EXAMPLE_NEW, "an invitation": {"email": "bob@example.com", "invite": True}},
        ),
    ),
    answers=(SuccessResponse(status=201, description="The new user", content=(RECORD,)),),
    errors=(EmailInUse, LimitExceeded, Busy),
)
CHANGE = Operation(
    id="changeUser",
    tag=tags.USERS,
    description="Disabling ends all sessions of the user, and lets nobody sign in until the user is enabled again.",
    body=(
        Content(
            type=UserChangeForm,
            examples={
                "two fields": {"data": {"name": "Ann B."}, "claims": {"plan": "free"}},
                "disable": {"disabled": True},
            },
        ),
    ),
    answers=(SuccessResponse(description="The user afterwards", content=(RECORD,)),),
    errors=(UserNotFound, EmailInUse),
)
DELETE = Operation(
    id="deleteUser",
    tag=tags.USERS,
    answers=(SuccessResponse(status=204, description="The user is gone, with the user's sessions and files"),),
    errors=(UserNotFound,),
)
PASSWORD = Operation(
    id="replacePassword",
    tag=tags.USERS,
    description="Ends all sessions of the user.",
    body=(Content(type=PasswordForm, examples={"a password": {"password": "correct horse battery"}}),),
    answers=(SuccessResponse(status=204, description="The password is replaced"),),
    errors=(UserNotFound, Busy),
)
LIST_SESSIONS = Operation(
    id="listSessionsOfUser",
    tag=tags.USERS,
    answers=(
        SuccessResponse(
            description="The sessions that can still be used, the newest first; `current` is false",
            content=(
                Content(type=SessionList, examples={"one": {"sessions": [EXAMPLE_SESSION | {"current": False}]}}),
            ),
        ),
    ),
    errors=(UserNotFound,),
)
END_SESSIONS = Operation(
    id="endSessionsOfUser",
    tag=tags.USERS,
    description="The user's tokens are refused from the next request on.",
    answers=(SuccessResponse(status=204, description="All have ended"),),
    errors=(UserNotFound,),
)
EXAMPLE_LINK = {
    "url": "https://auth.example.com/auth-collections/link?t=Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw",
    "code": "402719",
    "flow_id": "4bS9uQmXk1dW0p2RzV7nYA",
    "expires_at": shapes.EXAMPLE_TIME,
}
REMOVE_FACTORS = Operation(
    id="removeFactorsOfUser",
    tag=tags.USERS,
    description="Of whoever has lost them all, and the recovery codes. The user is told by mail; sessions go on.",
    answers=(SuccessResponse(status=204, description="The user has no second factor"),),
    errors=(UserNotFound,),
)
MAKE_LINK = Operation(
    id="makeLink",
    tag=tags.USERS,
    description="What a mail would carry, for a server that hands it over itself. Nobody is mailed.",
    body=(Content(type=LinkForm, examples={"an invitation": {"purpose": "invite"}}),),
    answers=(
        SuccessResponse(
            status=201,
            description="The link, and the code that is good with the `flow_id`",
            content=(Content(type=LinkView, examples={"a link": EXAMPLE_LINK}),),
        ),
    ),
    errors=(UserNotFound,),
)
