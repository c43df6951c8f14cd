"""The declarations of administration."""

from service.errors import Busy, EmailInUse, UserNotFound
from service.web.accounts.bodies import UserRecord
from service.web.accounts.openapi import EXAMPLE_LOGIN, EXAMPLE_RECORD
from service.web.administration.bodies import NewUserForm, PasswordForm, UserChangeForm
from service.web.openapi import tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse

RECORD = Content(type=UserRecord, examples={"a user": EXAMPLE_RECORD})
EXAMPLE_NEW = {**EXAMPLE_LOGIN, "data": {"name": "Ann"}, "claims": {"plan": "pro"}, "email_verified": True}

CREATE = Operation(
    id="createUser",
    tag=tags.USERS,
    description="Nobody is signed in by this, and a taken address is a 409.",
    body=(Content(type=NewUserForm, examples={"a user": EXAMPLE_NEW}),),
    answers=(SuccessResponse(status=201, description="The new user", content=(RECORD,)),),
    errors=(EmailInUse, Busy),
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
