"""Bodies of the endpoints of operators."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from service.bounds import MAX_OPERATOR_ROLES, MAX_SCOPES
from service.domain.accounts.password_hashes import MAX_PASSWORD_BYTES
from service.domain.operators.administration import OperatorChange
from service.domain.operators.factors import Proof
from service.domain.operators.invitations import Acceptance
from service.domain.operators.sign_in import MIN_PASSWORD
from service.domain.permissions import EVERY, SCOPE, Role
from service.domain.projects.lookup import PROJECT_ID
from service.errors import Invalid
from service.web.http.emails import Email
from service.web.http.passwords import Password
from service.web.http.proofs import WAYS, Digits, OneRecoveryCode, check_one, read_proof
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, Strict, Time

MAX_HOURS, MAX_DAYS = 72, 400
EXAMPLE_EMAIL = "olga@example.com"
EXAMPLE_OPERATOR = {
    "id": EXAMPLE_ID,
    "email": EXAMPLE_EMAIL,
    "name": "Olga",
    "roles": {"shop": "admin"},
    "factors": [{"type": "totp", "created_at": EXAMPLE_TIME, "recovery_codes_left": 10}],
    "disabled": False,
    "created_at": EXAMPLE_TIME,
    "last_seen_at": EXAMPLE_TIME,
}
EXAMPLE_ME = {
    "operator": EXAMPLE_OPERATOR,
    "stage": "full",
    "access": {"shop": {"data": "write", "schema": "write", "users": "write", "config": "write", "logs": "read"}},
    "expires_at": EXAMPLE_TIME,
    "idle_until": EXAMPLE_TIME,
    "confirmed_until": EXAMPLE_TIME,
    "deployment": {
        "id": "4f1c2a9b",
        "version": "0.5.0",
        "base_url": "https://auth.example.com",
        "has_smtp": True,
    },
}
EXAMPLE_LINK = "https://auth.example.com/console/#/join/Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw"
EXAMPLE_INVITED = {"invitation": {"id": EXAMPLE_ID, "link": EXAMPLE_LINK, "expires_at": EXAMPLE_TIME}}
EXAMPLE_TOKEN = {
    "id": EXAMPLE_ID,
    "name": "pipeline",
    "scopes": ["shop:schema:write"],
    "created_at": EXAMPLE_TIME,
    "expires_at": EXAMPLE_TIME,
    "last_used_at": None,
}

Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
NewPassword = Annotated[
    str,
    Field(
        description=f"{MIN_PASSWORD} characters to {MAX_PASSWORD_BYTES} bytes in UTF-8, none of the common ones",
        json_schema_extra={"format": "password", "minLength": MIN_PASSWORD, "maxLength": MAX_PASSWORD_BYTES},
    ),
]
Roles = Annotated[
    dict[str, Role],
    Field(
        description="By project id; `*` stands for all projects, and alone may be `owner`",
        max_length=MAX_OPERATOR_ROLES,
    ),
]
ScopeText = Annotated[
    str,
    StringConstraints(
        pattern=f"^(?:{SCOPE.pattern.replace('?P<project>', '?:').replace('?P<area>', '?:').replace('?P<level>', '?:')})$"
    ),
    Field(examples=["shop:schema:write"]),
]
Level = Literal["read", "write"]
Grants = dict[Literal["data", "schema", "users", "config", "logs", "deployment"], Level]


class OperatorLogin(Strict):
    email: Email
    password: Password


class OperatorFactorForm(Strict):
    """Exactly one of the two."""

    totp: Digits | None = None
    recovery_code: OneRecoveryCode | None = None

    def read(self) -> Proof:
        """Raises Invalid where none is there, or both."""
        check_one(self, WAYS)
        return read_proof(self.totp, self.recovery_code)  # type: ignore[return-value]


class OperatorConfirmForm(Strict):
    """At most one of `totp` and `recovery_code`, which an operator with a factor needs."""

    password: Password
    totp: Digits | None = None
    recovery_code: OneRecoveryCode | None = None

    def read(self) -> Proof | None:
        """Raises Invalid where both are there."""
        if self.totp is None and self.recovery_code is None:
            return None
        check_one(self, WAYS)
        return read_proof(self.totp, self.recovery_code)  # type: ignore[return-value]


class InvitationToken(Strict):
    token: Annotated[str, Field(max_length=100, description="The 43 characters behind `#/join/`")]


class AcceptForm(InvitationToken):
    """`email` belongs to an invitation that has none."""

    name: Name
    password: NewPassword
    email: Email | None = None

    def read(self) -> Acceptance:
        """Raises Invalid for an address that is sent as null."""
        if "email" in self.model_fields_set and self.email is None:
            raise Invalid.one(("body", "email"), "Input should be a valid string", type_="string_type")
        return Acceptance(self.name, self.password, self.email)


class OperatorPasswordForm(Strict):
    current_password: Password
    password: NewPassword


class CodeForm(Strict):
    code: Digits


class InviteForm(Strict):
    email: Email
    roles: Roles
    hours: Annotated[int, Field(ge=1, le=MAX_HOURS)] = 24


class OperatorResetForm(Strict):
    """Hours for which the link is good."""

    hours: Annotated[int, Field(ge=1, le=MAX_HOURS)] = 24


class OperatorForm(Strict):
    """A field that is not sent stays as it is."""

    name: Name = ""
    roles: Roles = Field(default_factory=dict)
    disabled: bool = False

    def read(self) -> OperatorChange:
        return OperatorChange(**{name: getattr(self, name) for name in self.model_fields_set})


class OperatorTokenForm(Strict):
    name: Name
    scopes: Annotated[list[ScopeText], Field(min_length=1, max_length=MAX_SCOPES)]
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 90


class OperatorFactorView(TypedDict):
    type: Literal["totp"]
    created_at: Time
    recovery_codes_left: Annotated[int, Field(ge=0)]


class OperatorView(TypedDict):
    id: Id
    email: str
    name: str
    roles: dict[str, Role]
    factors: list[OperatorFactorView]
    disabled: bool
    created_at: Time
    last_seen_at: Time | None


class Deployment(TypedDict):
    id: str
    version: str
    base_url: str
    has_smtp: bool


class Me(TypedDict):
    operator: OperatorView
    stage: Literal["factor", "enrol", "full"]
    access: dict[str, Grants]
    expires_at: Time
    idle_until: Time
    confirmed_until: Time | None
    deployment: Deployment


class MeWithCodes(Me):
    recovery_codes: list[str]


class RecoveryCodes(TypedDict):
    recovery_codes: list[str]


class TotpSecret(TypedDict):
    secret: str
    uri: str


class ConsoleSession(TypedDict):
    id: Id
    created_at: Time
    last_seen_at: Time
    ip: str
    user_agent: str
    current: bool


class ConsoleSessions(TypedDict):
    sessions: list[ConsoleSession]


class TokenView(TypedDict):
    id: Id
    name: str
    scopes: list[str]
    created_at: Time
    expires_at: Time
    last_used_at: Time | None


class NewTokenView(TokenView):
    token: str


class TokenList(TypedDict):
    tokens: list[TokenView]


class OperatorList(TypedDict):
    operators: list[OperatorView]


class NewInvitation(TypedDict):
    id: Id
    link: str
    expires_at: Time


class Invited(TypedDict):
    invitation: NewInvitation


class OpenInvitation(TypedDict):
    id: Id
    kind: Literal["bootstrap", "invite", "reset"]
    email: str | None
    roles: dict[str, Role]
    created_at: Time
    expires_at: Time


class OpenInvitations(TypedDict):
    invitations: list[OpenInvitation]


class CheckedInvitation(TypedDict):
    kind: Literal["bootstrap", "invite", "reset"]
    email: str | None
    roles: dict[str, Role]
    expires_at: Time


def check_roles(roles: dict[str, Any]) -> None:
    """Raises Invalid for a project's id that is none, and for an owner of single projects."""
    for project, role in roles.items():
        loc = ("body", "roles", project)
        if project != EVERY and not PROJECT_ID.fullmatch(project):
            raise Invalid.one(loc, "This is no project's id, and not *")
        if role == "owner" and project != EVERY:
            raise Invalid.one(loc, "An owner is one of the whole deployment: *")
