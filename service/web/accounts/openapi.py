"""The declarations of accounts: specification sections 4.1 and 7.1."""

from dataclasses import replace

from service.errors import (
    AccountDisabled,
    Busy,
    EmailNotVerified,
    EmailTaken,
    EnrolmentRequired,
    FactorRequired,
    IdempotencyKeyUsed,
    Invalid,
    ProjectNotFound,
    QueryTooSlow,
    StepUpRequired,
    Unavailable,
    UploadLost,
    UserNotFound,
    VersionConflict,
    WrongCredentials,
    WrongPassword,
)
from service.web.accounts.bodies import (
    Login,
    OwnPasswordForm,
    Profile,
    ProfileChanges,
    ProfileForm,
    PublicKeys,
    ReadUser,
    RolesForm,
    SignedIn,
    Signup,
    SignupForm,
    UserList,
    UserRecord,
    UserRoles,
)
from service.web.http.list_body import ListForm
from service.web.openapi import shapes, tags
from service.web.openapi.conditions import ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED
from service.web.openapi.declaration import Content, ErrorExample, Operation, SuccessResponse
from service.web.openapi.forms import form_content
from service.web.openapi.lists import EXAMPLE_CURSOR, DistinctValues
from service.web.openapi.query_parameters import distinct_parameters, list_parameters
from service.web.openapi.tickets import FLOW

EXAMPLE_USER = {
    "id": shapes.EXAMPLE_ID,
    "email": "ann@example.com",
    "data": {"name": "Ann", "age": 33, "referred_by_id": "66f0c1a2b3c4d5e6f7a8b9c1"},
    "created_at": shapes.EXAMPLE_TIME,
}
EXAMPLE_READ = {**EXAMPLE_USER, "updated_at": shapes.EXAMPLE_TIME}
EXAMPLE_ACCOUNT = {
    **EXAMPLE_USER,
    "email_verified": True,
    "disabled": False,
    "claims": {"plan": "pro"},
    "last_sign_in_at": shapes.EXAMPLE_TIME,
}
EXAMPLE_RECORD = {**EXAMPLE_ACCOUNT, "updated_at": shapes.EXAMPLE_TIME}
EXAMPLE_OWN = {**EXAMPLE_USER, "email_verified": True, "roles": ["editor"]}
EXAMPLE_LOGIN = {"email": "ann@example.com", "password": "correct horse"}
EXAMPLE_SIGNED_IN = {
    "access_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRlbW8uMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln",
    "token_type": "bearer",
    "user": EXAMPLE_OWN,
}


# What a right credential may be answered in the place of a session.
EXAMPLE_PENDING = "oHc4sJk2TqVbX7mPzR1yWg"
FACTOR_REQUIRED = ErrorExample(FactorRequired, EXAMPLE_PENDING, ("totp", "recovery_code"), 600)
ENROLMENT_REQUIRED = ErrorExample(EnrolmentRequired, EXAMPLE_PENDING)
SECOND_FACTORS = (FACTOR_REQUIRED, ENROLMENT_REQUIRED)

PROFILE = Content(type=Profile, examples={"profile": {**EXAMPLE_OWN, "updated_at": shapes.EXAMPLE_TIME}})
SIGNUP_FORM = form_content(SignupForm)
PROFILE_FORM = form_content(ProfileForm)
SIGNED_IN = Content(type=SignedIn, examples={"signed in": EXAMPLE_SIGNED_IN})

SIGNUP = Operation(
    id="signup",
    tag=tags.ACCOUNTS,
    description="Every field beside `email` and `password` is stored in the user's `data`. A field such as "
    "`referred_by_id` that holds another user's id is a relation.",
    body=(Content(type=Signup, examples={"a user": {**EXAMPLE_LOGIN, "name": "Ann", "age": 33}}), SIGNUP_FORM),
    answers=(
        SuccessResponse(status=201, description="The new user, with a token", content=(SIGNED_IN,)),
        replace(FLOW, description="The address must be proven first: what the code of the mail is good with"),
    ),
    errors=(EmailTaken, IdempotencyKeyUsed, ENROLMENT_REQUIRED, Busy, UploadLost),
)
LOGIN = Operation(
    id="login",
    tag=tags.ACCOUNTS,
    body=(Content(type=Login, examples={"a user": EXAMPLE_LOGIN}),),
    answers=(SuccessResponse(description="The user, with a new token", content=(SIGNED_IN,)),),
    errors=(WrongCredentials, UserNotFound, *SECOND_FACTORS, AccountDisabled, EmailNotVerified, Busy),
)
OWN_PASSWORD = Operation(
    id="changePassword",
    tag=tags.ACCOUNTS,
    description="All sessions of the user end, and the answer has a new one. Who has no password yet leaves `current_password` "
    "out, and must have signed in within ten minutes. Counted as a login.",
    body=(
        Content(
            type=OwnPasswordForm,
            examples={
                "a password": {"current_password": EXAMPLE_LOGIN["password"], "password": "correct horse battery"},
                "the first one": {"password": "correct horse battery"},
            },
        ),
    ),
    answers=(SuccessResponse(description="The user, with a new token", content=(SIGNED_IN,)),),
    errors=(WrongPassword, ENROLMENT_REQUIRED, EmailNotVerified, StepUpRequired, Busy),
)
DELETE_ACCOUNT = Operation(
    id="deleteAccount",
    tag=tags.ACCOUNTS,
    description="For ten minutes after a sign-in or a step-up.",
    answers=(SuccessResponse(status=204, description="The user is gone, with the user's sessions, mails and files"),),
)
READ_PROFILE = Operation(
    id="readProfile",
    tag=tags.ACCOUNTS,
    parameters=(IF_NONE_MATCH,),
    answers=(SuccessResponse(description="The user whose token it is", content=(PROFILE,), headers=ETAG), NOT_MODIFIED),
)
UPDATE_PROFILE = Operation(
    id="updateProfile",
    tag=tags.ACCOUNTS,
    description="Sets the named fields of `data` and leaves the others.",
    body=(Content(type=ProfileChanges, examples={"two fields": {"name": "Ann B.", "age": 34}}), PROFILE_FORM),
    parameters=(IF_MATCH,),
    answers=(SuccessResponse(description="The user afterwards", content=(PROFILE,), headers=ETAG),),
    errors=(UploadLost, ErrorExample(VersionConflict, '"v18"')),
)
LIST_USERS = Operation(
    id="listUsers",
    tag=tags.USERS,
    parameters=list_parameters({"age_gte": "18", "name_icontains": "ann"}, "referred_by"),
    answers=(
        SuccessResponse(
            description="One page of users",
            content=(
                Content(
                    type=UserList,
                    examples={
                        "a page": {"users": [EXAMPLE_USER], "total": 1, "limit": 50, "offset": 0},
                        "a page by cursor": {
                            "users": [EXAMPLE_USER],
                            "total": None,
                            "limit": 1,
                            "next": EXAMPLE_CURSOR,
                        },
                        "by a server": {"users": [EXAMPLE_ACCOUNT], "total": 1, "limit": 50, "offset": 0},
                    },
                ),
            ),
        ),
    ),
    errors=(QueryTooSlow,),
)
QUERY_USERS = replace(
    LIST_USERS,
    id="queryUsers",
    description="As the list, with conditions that `and`, `or` and `not` join. The method QUERY takes the same at "
    "`/auth-collections/users`.",
    parameters=(),
    body=(
        Content(
            type=ListForm,
            examples={"either": {"where": {"or": [{"age_gte": 18}, {"referred_by.name_eq": "Ann"}]}, "limit": 20}},
        ),
    ),
)
DISTINCT = Operation(
    id="distinctUserValues",
    tag=tags.USERS,
    description="Each scalar once, elements of arrays one by one, in MongoDB's order; nulls are left out.",
    parameters=distinct_parameters("group", {"age_gte": "18", "name_icontains": "ann"}),
    answers=(
        SuccessResponse(
            description="The first values",
            content=(Content(type=DistinctValues, examples={"groups": {"values": [1, 2, 3], "truncated": False}}),),
        ),
    ),
    errors=(QueryTooSlow,),
)
EXAMPLE_JWK = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "kid": "demo.1a2b3c4d",
    "use": "sig",
    "alg": "ES256",
}
READ_USER = Operation(
    id="readUser",
    tag=tags.USERS,
    description="By the secret key, or by whom the rules of users let read this one.",
    answers=(
        SuccessResponse(
            description="The user, with what the caller may read",
            content=(
                Content(type=UserRecord | ReadUser, examples={"a user": EXAMPLE_READ, "by a server": EXAMPLE_RECORD}),
            ),
        ),
    ),
    errors=(UserNotFound,),
)
ROLES = Operation(
    id="replaceRoles",
    tag=tags.USERS,
    description="By the secret key all of them; by a user whom the rules let assign some roles, just those.",
    body=(Content(type=RolesForm, examples={"an editor": {"roles": ["editor"]}}),),
    answers=(
        SuccessResponse(
            description="The roles afterwards",
            content=(Content(type=UserRoles, examples={"an editor": {"id": shapes.EXAMPLE_ID, "roles": ["editor"]}}),),
        ),
    ),
    errors=(UserNotFound,),
)
JWKS = Operation(
    id="publicKeys",
    tag=tags.ACCOUNTS,
    description="A JWK Set (RFC 7517), for those who verify tokens themselves.",
    answers=(
        SuccessResponse(
            description="The public keys",
            content=(
                Content(
                    type=PublicKeys,
                    examples={"one key": {"keys": [EXAMPLE_JWK]}},
                ),
            ),
            headers={"Cache-Control": "How long the answer may be kept"},
        ),
    ),
    errors=(ProjectNotFound, Invalid, Unavailable),
)
