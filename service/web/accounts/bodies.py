"""Bodies and answers of the account endpoints: specification sections 2.1 and 4.1."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType, TypedDict

from service.bounds import MAX_CLAIMS_BYTES, MAX_FILE_BYTES, MAX_FILES
from service.domain.accounts.profile import RESERVED
from service.domain.files.types import FILE_TYPES
from service.rules.ruleset import ROLE
from service.schema.user_names import MAX_SIGNING_NAME
from service.web.auth.captcha import CaptchaToken
from service.web.auth.grant import Granted
from service.web.http.emails import Email, EmailText
from service.web.http.passwords import NewPassword, Password
from service.web.openapi.lists import Counts, Next, TotalIs
from service.web.openapi.shapes import NAMES, Data, FormParts, Id, Limit, Offset, Time, Total

FORM = (
    "`data` is the JSON of {fields}; every other part is a file, and its name the field in `data` that gets the file's URL. "
    f"At most {MAX_FILES} files of at most {MAX_FILE_BYTES:,} bytes: {', '.join(FILE_TYPES)}."
)


def without(*names: str) -> dict[str, Any]:
    return {"not": {"anyOf": [{"required": [name]} for name in names]}}


# An object `data` is refused: fields of the profile stand beside the address and the password.
UNWRAPPED: dict[str, Any] = {"allOf": [{"properties": {"data": {"not": {"type": "object"}}}}]}


class Signup(BaseModel):
    """`email` and `password`; every other field of the body is profile data."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=without(*RESERVED) | UNWRAPPED)

    email: Email
    password: NewPassword


def _require_one(email: str | None, info: ValidationInfo) -> str | None:
    """Raises PydanticCustomError unless the body has either an address or a name."""
    has_name = info.data.get("username") is not None
    if email is None and not has_name:
        raise PydanticCustomError("missing", "Field required")
    if email is not None and has_name:
        raise PydanticCustomError("value_error", "Give either email or username")
    return email


class Login(BaseModel):
    """A password, and the user's address; or the user's name, where the project has them (USERNAMES)."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        # A generator of clients makes a union of a plain `oneOf`, whose parts would have no fields.
        json_schema_extra={"allOf": [{"oneOf": [{"required": ["email"]}, {"required": ["username"]}]}]},
    )

    # The check of the address looks at the name, which is read first.
    username: Annotated[str, Field(min_length=1, max_length=MAX_SIGNING_NAME)] | None = None
    email: Annotated[Email | None, AfterValidator(_require_one)] = Field(default=None, validate_default=True)
    password: Password
    captcha_token: CaptchaToken | None = None


class OwnPasswordForm(BaseModel):
    """Another password, and the present one, which only users of an identity provider may not have."""

    model_config = ConfigDict(strict=True, extra="forbid")

    current_password: Password | None = None
    password: NewPassword


ProfileChanges = TypeAliasType(
    "ProfileChanges",
    Annotated[
        dict[str, Any],
        Field(
            description="The fields of `data` to set; the others stay. `id` and `email` may be sent as they were read. "
            + NAMES,
            json_schema_extra=without(*RESERVED, "password", "email"),
        ),
    ],
)


class SignupForm(FormParts):
    __doc__ = FORM.format(fields="Signup")

    data: Signup


class ProfileForm(FormParts):
    __doc__ = FORM.format(fields="ProfileChanges")

    data: ProfileChanges = Field(default_factory=dict)


AnyEmail = Annotated[EmailText | None, Field(description="null for an anonymous user")]


class User(TypedDict):
    id: Id
    email: AnyEmail
    data: Data
    created_at: Time


class OwnUser(User):
    """One's own account, as the answer to a sign-in shows it."""

    email_verified: bool
    anonymous: NotRequired[Annotated[Literal[True], Field(description="Where the user has no account")]]
    roles: NotRequired[Annotated[Sequence[str], Field(description="Where the user has any")]]


class Profile(OwnUser):
    updated_at: Time


class VisibleUser(TypedDict):
    """A user of a list with what the caller may read: `email` only where the rules give it."""

    id: Id
    email: NotRequired[AnyEmail]
    data: Data
    created_at: Time
    counts: NotRequired[Counts]


class ReadUser(VisibleUser):
    """A single user with what the caller may read; `roles` are the caller's own, where there are any."""

    updated_at: Time
    roles: NotRequired[list[str]]


Claims = TypeAliasType(
    "Claims",
    Annotated[
        dict[str, Any],
        Field(
            description=f"What the user's tokens say in their claim `claims`, at most {MAX_CLAIMS_BYTES} bytes as JSON. "
            + NAMES
        ),
    ],
)


class UserAccount(User):
    """A user of a list as the secret key sees one."""

    email_verified: bool
    disabled: bool
    anonymous: NotRequired[Annotated[Literal[True], Field(description="Where the user has no account")]]
    claims: Claims
    roles: NotRequired[list[str]]
    last_sign_in_at: NotRequired[Annotated[Time, Field(description="Where the user has signed in")]]
    counts: NotRequired[Counts]


class UserRecord(UserAccount):
    """A user as the secret key sees one."""

    updated_at: Time


# The domain judges which names there are.
RoleName = Annotated[str, Field(json_schema_extra={"pattern": f"^{ROLE.pattern}$"})]


class RolesForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    roles: list[RoleName]


class UserRoles(TypedDict):
    id: Id
    roles: list[str]


class UserList(TypedDict):
    users: list[UserAccount | VisibleUser]
    total: Total
    total_is: NotRequired[TotalIs]
    limit: Limit
    offset: NotRequired[Offset]
    next: NotRequired[Next]


class SignedIn(Granted):
    user: OwnUser
    flow_id: NotRequired[
        Annotated[str, Field(description="Where a new user was mailed: what the code of the mail is good with")]
    ]


class PublicKey(TypedDict):
    __pydantic_config__ = ConfigDict(json_schema_extra=without("d"))  # type: ignore[misc]

    kty: str
    crv: str
    x: str
    y: str
    kid: str
    use: NotRequired[str]
    alg: NotRequired[str]


class PublicKeys(TypedDict):
    keys: list[PublicKey]
