"""What the endpoints of administration read."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from service.domain.administration.users import NewPassword, UserDraft
from service.storage.account_states import AccountState
from service.storage.user_changes import UserChange
from service.web.accounts.bodies import Claims
from service.web.http.emails import Email
from service.web.http.passwords import NewPassword as PasswordText
from service.web.openapi.shapes import Data

HashText = Annotated[
    str,
    Field(description="Of bcrypt or argon2id, as another program stored it", json_schema_extra={"format": "password"}),
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

    def draft(self) -> UserDraft:
        password = NewPassword(**self._sent("password"), hashed=self._sent("password_hash").get("password_hash"))
        state = AccountState(disabled=self.disabled, email_verified=self.email_verified, claims=self.claims)
        return UserDraft(self.email, password, self.data, state)


class UserChangeForm(_Strict):
    """What is not named stays. The fields of `data` are set, its others stay; `claims` are replaced."""

    email: Email = Field(default_factory=str)
    data: Data = Field(default_factory=dict)
    claims: Claims = Field(default_factory=dict)
    email_verified: bool = Field(default_factory=bool)
    disabled: bool = Field(default_factory=bool)

    def change(self) -> UserChange:
        return UserChange(self.data, self._sent("email", "claims", "email_verified", "disabled"))
