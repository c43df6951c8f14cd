"""Bodies of the endpoints of administration."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.domain.accounts.administration import Invitation, NewPassword, UserDraft
from service.domain.accounts.handed_links import HandedLink
from service.storage.account_states import AccountState
from service.storage.accounts import AccountChange
from service.web.accounts.bodies import Claims, RoleName
from service.web.http.emails import Email
from service.web.http.passwords import NewPassword as PasswordText
from service.web.openapi.shapes import Data, Time

HashText = Annotated[
    str,
    Field(
        description="Of bcrypt, argon2, scrypt or pbkdf2, as stored by another program",
        json_schema_extra={"format": "password"},
    ),
]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    def _sent(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}


class PasswordForm(_Strict):
    """Either of the two."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    password: PasswordText = Field(default_factory=str)
    password_hash: HashText = Field(default_factory=str)

    def read(self) -> NewPassword:
        return NewPassword(**self._sent("password"), hashed=self._sent("password_hash").get("password_hash"))


class NewUserForm(_Strict):
    """At most one of `password` and `password_hash`; without one the user signs in by other ways."""

    email: Email
    password: PasswordText = Field(default_factory=str)
    password_hash: HashText = Field(default_factory=str)
    data: Data = Field(default_factory=dict)
    claims: Claims = Field(default_factory=dict)
    email_verified: bool = False
    disabled: bool = False
    roles: list[RoleName] = Field(default_factory=list)
    invite: Annotated[
        bool, Field(description="Mails the user a link to choose a password, in the first of `Accept-Language`")
    ] = False

    def draft(self, locale: str | None) -> UserDraft:
        password = NewPassword(**self._sent("password"), hashed=self._sent("password_hash").get("password_hash"))
        state = AccountState(
            disabled=self.disabled,
            email_verified=self.email_verified,
            claims=self.claims,
            roles=tuple(dict.fromkeys(self.roles)),
        )
        return UserDraft(self.email, password, self.data, state, Invitation(locale) if self.invite else None)


class UserChangeForm(_Strict):
    """What is not named stays. The fields of `data` are set, its others stay; `claims` are replaced."""

    email: Email = Field(default_factory=str)
    data: Data = Field(default_factory=dict)
    claims: Claims = Field(default_factory=dict)
    email_verified: bool = Field(default_factory=bool)
    disabled: bool = Field(default_factory=bool)

    def change(self) -> AccountChange:
        return AccountChange(self.data, **self._sent("email", "claims", "email_verified", "disabled"))


class LinkForm(_Strict):
    """What the link is for, and which of the project's REDIRECT_URLS it leads to in the end: without one the first."""

    purpose: Literal["sign_in", "verify_email", "reset_password", "invite"]
    redirect_to: Annotated[str, Field(max_length=2048)] | None = None


class LinkView(TypedDict):
    url: str
    code: str
    flow_id: str
    expires_at: Time


def link_view(link: HandedLink) -> LinkView:
    return {"url": link.url, "code": link.code, "flow_id": link.flow_id, "expires_at": link.expires_at}
