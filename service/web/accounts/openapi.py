"""The declarations of web/users: specification sections 4.1 and 7.1."""

from collections.abc import Mapping
from typing import Any

from service.bounds import MAX_FILE_BYTES, MAX_FILES
from service.domain.accounts.passwords import MAX_PASSWORD_BYTES
from service.domain.accounts.users import RESERVED
from service.domain.files.types import FILE_TYPES
from service.domain.projects.settings import ProjectSettings
from service.errors import (
    Busy,
    EmailTaken,
    Invalid,
    ProjectNotFound,
    QueryTooSlow,
    Unavailable,
    UploadLost,
    UserNotFound,
    WrongCredentials,
)
from service.web.accounts.endpoints import Login, Signup
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import JSON, Component, Content, Operation, SuccessResponse
from service.web.openapi.query_parameters import list_parameters

MIN_PASSWORD = ProjectSettings.model_fields["password_min_length"].default
EXAMPLE_LOGIN = {"email": "ann@example.com", "password": "correct horse"}
EXAMPLE_SIGNED_IN = {
    "access_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRlbW8uMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln",
    "token_type": "bearer",
    "user": shapes.EXAMPLE_USER,
}


def _without(names: tuple[str, ...]) -> dict[str, Any]:
    return {"not": {"anyOf": [{"required": [name]} for name in names]}}


def _described(schema: dict[str, Any], properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A model's own schema, with what its validators check beyond types."""
    merged = {name: {**field, **properties.get(name, {})} for name, field in schema["properties"].items()}
    return {**schema, "properties": merged}


NEW_PASSWORD = {
    "minLength": MIN_PASSWORD,
    "maxLength": MAX_PASSWORD_BYTES,
    "pattern": r"^[^\x00]*$",
    "format": "password",
    "description": f"At least {MIN_PASSWORD} characters, unless the project's PASSWORD_MIN_LENGTH is another number, and "
    f"at most {MAX_PASSWORD_BYTES} bytes in UTF-8",
}
SIGNUP_BODY = Component(
    "Signup",
    {
        **_described(Signup.model_json_schema(), {"email": shapes.EMAIL, "password": NEW_PASSWORD}),
        "propertyNames": shapes.FIELD_NAME,
        "additionalProperties": shapes.VALUE.ref,
        **_without(RESERVED),
    },
)
LOGIN_BODY = Component(
    "Login", _described(Login.model_json_schema(), {"email": shapes.EMAIL, "password": {"format": "password"}})
)
PROFILE_CHANGES = Component(
    "ProfileChanges",
    {
        **shapes.DATA.schema,
        "description": "The fields of `data` to set; the others stay. `id` and `email` may be sent as they were read.",
        **_without((*RESERVED, "password", "email")),
    },
)


def _form(name: str, fields: Component, *, required: bool) -> Content:
    """The body as a form: `data` is JSON text of the fields, every other part is a file."""
    schema = {
        "type": "object",
        "properties": {"data": fields.ref},
        "propertyNames": shapes.FIELD_NAME,
        "additionalProperties": {"type": "string", "format": "binary"},
        "maxProperties": MAX_FILES + 1,
        "description": f"`data` is the JSON of {fields.name}; every other part is a file, and its name the field in `data` "
        f"that gets the file's URL. At most {MAX_FILES} files of at most {MAX_FILE_BYTES:,} bytes: {', '.join(FILE_TYPES)}.",
        **({"required": ["data"]} if required else {}),
    }
    return Content(
        schema=Component(name, schema), media_type="multipart/form-data", encoding={"data": {"contentType": JSON}}
    )


PROFILE = Content(
    schema=shapes.PROFILE,
    examples={"profile": {**shapes.EXAMPLE_USER, "updated_at": shapes.EXAMPLE_TIME}},
)
SIGNUP_FORM = _form("SignupForm", SIGNUP_BODY, required=True)
PROFILE_FORM = _form("ProfileForm", PROFILE_CHANGES, required=False)
SIGNED_IN = Content(schema=shapes.SIGNED_IN, examples={"signed in": EXAMPLE_SIGNED_IN})

SIGNUP = Operation(
    id="signup",
    tag=tags.ACCOUNTS,
    description="Every field beside `email` and `password` is stored in the user's `data`. A field such as "
    "`referred_by_id` that holds another user's id is a relation.",
    body=(Content(schema=SIGNUP_BODY, examples={"a user": {**EXAMPLE_LOGIN, "name": "Ann", "age": 33}}), SIGNUP_FORM),
    answers=(SuccessResponse(status=201, description="The new user, with a token", content=(SIGNED_IN,)),),
    errors=(EmailTaken, Busy, UploadLost),
)
LOGIN = Operation(
    id="login",
    tag=tags.ACCOUNTS,
    body=(Content(schema=LOGIN_BODY, examples={"a user": EXAMPLE_LOGIN}),),
    answers=(SuccessResponse(description="The user, with a new token", content=(SIGNED_IN,)),),
    errors=(WrongCredentials, UserNotFound, Busy),
)
READ_PROFILE = Operation(
    id="readProfile",
    tag=tags.ACCOUNTS,
    answers=(SuccessResponse(description="The user whose token it is", content=(PROFILE,)),),
)
UPDATE_PROFILE = Operation(
    id="updateProfile",
    tag=tags.ACCOUNTS,
    description="Sets the named fields of `data` and leaves the others.",
    body=(Content(schema=PROFILE_CHANGES, examples={"two fields": {"name": "Ann B.", "age": 34}}), PROFILE_FORM),
    answers=(SuccessResponse(description="The user afterwards", content=(PROFILE,)),),
    errors=(UploadLost,),
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
                    schema=shapes.USERS,
                    examples={"a page": {"users": [shapes.EXAMPLE_USER], "total": 1, "limit": 50, "offset": 0}},
                ),
            ),
        ),
    ),
    errors=(QueryTooSlow,),
)
JWK: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("kty", "crv", "x", "y", "kid", "use", "alg")},
    "required": ["kty", "crv", "x", "y", "kid"],
    "not": {"required": ["d"]},
}
EXAMPLE_JWK = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "kid": "demo.1a2b3c4d",
    "use": "sig",
    "alg": "ES256",
}
JWKS = Operation(
    id="publicKeys",
    tag=tags.ACCOUNTS,
    description="A JWK Set (RFC 7517), for those who verify tokens themselves.",
    answers=(
        SuccessResponse(
            description="The public keys",
            content=(
                Content(
                    schema=Component("PublicKeys", shapes.object_of(keys={"type": "array", "items": JWK})),
                    examples={"one key": {"keys": [EXAMPLE_JWK]}},
                ),
            ),
            headers={"Cache-Control": "How long the answer may be kept"},
        ),
    ),
    errors=(ProjectNotFound, Invalid, Unavailable),
)
