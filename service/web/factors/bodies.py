"""Bodies and answers of the endpoints of second factors."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.domain.accounts.enrolment import Enrolled
from service.domain.accounts.factor_codes import NUMBER
from service.domain.accounts.factor_proofs import PasskeyAnswer, Proof
from service.errors import Invalid
from service.storage.factors import Factor
from service.web.accounts.bodies import SignedIn
from service.web.accounts.views import signed_in_view
from service.web.factors.credentials import EXAMPLE_FLOW, AssertionCredential
from service.web.http.passwords import Password
from service.web.http.proofs import (
    EXAMPLE_RECOVERY_CODE,
    MAX_PROOF,
    WAYS,
    Digits,
    OneRecoveryCode,
    check_one,
    read_proof,
)
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, Time

MAX_NAME = 100
# A passkey resets no password by mail.
OF_SIGN_IN = (*WAYS, "credential")
EXAMPLE_FACTOR = {
    "id": EXAMPLE_ID,
    "type": "totp",
    "name": "My phone",
    "created_at": EXAMPLE_TIME,
    "last_used_at": EXAMPLE_TIME,
}
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # noqa: S105 - an example
EXAMPLE_URI = f"otpauth://totp/My%20app:ann@example.com?secret={SECRET}&issuer=My%20app"
EXAMPLE_TOTP = {"id": EXAMPLE_ID, "secret": SECRET, "uri": EXAMPLE_URI}

PendingFlow = Annotated[
    str,
    Field(min_length=1, max_length=MAX_PROOF, examples=[EXAMPLE_FLOW], description="Of a sign-in that was answered so"),
]
FactorName = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["My phone"])
]
FactorType = Annotated[Literal["totp", "passkey"], Field(examples=["totp"])]


def _one_of(names: Iterable[str]) -> dict[str, Any]:
    return {"oneOf": [{"required": [name]} for name in names]}


class FactorForm(BaseModel):
    """One of the ways in which the user has a second factor, and the flow of the sign-in that waits for it."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra=_one_of(OF_SIGN_IN))

    flow_id: PendingFlow
    totp: Digits | None = None
    recovery_code: OneRecoveryCode | None = None
    credential: AssertionCredential | None = None


class StepUpForm(BaseModel):
    """The password, of whoever has no second factor; else one of the ways in which the user has one.

    `flow_id` goes with `credential`, and is that of the options for it.
    """

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra=_one_of(("password", *OF_SIGN_IN)))

    password: Password | None = None
    totp: Digits | None = None
    recovery_code: OneRecoveryCode | None = None
    credential: AssertionCredential | None = None
    flow_id: PendingFlow | None = None


class TotpForm(BaseModel):
    """`flow_id` is for whoever must have a second factor to sign in, in the place of a user token."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: FactorName | None = None
    flow_id: PendingFlow | None = None


class TotpCodeForm(BaseModel):
    """`flow_id` is for whoever must have a second factor to sign in, in the place of a user token."""

    model_config = ConfigDict(strict=True, extra="forbid")

    code: Digits
    flow_id: PendingFlow | None = None


class FactorNameForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: FactorName


def read_factor(form: FactorForm) -> Proof:
    """Raises Invalid where there is none, or more than one."""
    check_one(form, OF_SIGN_IN)
    return _read_proof(form, form.flow_id)


def _read_proof(form: FactorForm | StepUpForm, flow_id: str) -> Proof:
    if form.credential is not None:
        return PasskeyAnswer(flow_id, form.credential.read())
    return read_proof(form.totp, form.recovery_code)


def read_step(form: StepUpForm) -> Proof | str:
    """A factor, or a password. Raises Invalid where there is neither, or more than one."""
    check_one(form, ("password", *OF_SIGN_IN))
    if form.password is not None:
        return form.password
    if (form.credential is None) != (form.flow_id is None):
        raise Invalid.one(("body", "flow_id"), "credential and flow_id go together", type_="value_error")
    return _read_proof(form, form.flow_id or "")


class FactorView(TypedDict):
    id: Id
    type: FactorType
    name: str
    created_at: Time
    last_used_at: Time | None


class FactorList(TypedDict):
    factors: list[FactorView]
    recovery_codes_left: int


class NewTotpView(TypedDict):
    id: Id
    secret: Annotated[str, Field(description="In base32, for whoever types it")]
    uri: Annotated[str, Field(description="For a QR code")]


RecoveryCodes = Annotated[
    list[str], Field(description=f"{NUMBER} codes, which are shown once", examples=[[EXAMPLE_RECOVERY_CODE]])
]


class EnrolledView(SignedIn):
    factor: FactorView
    recovery_codes: NotRequired[RecoveryCodes]


class RecoveryCodesView(TypedDict):
    recovery_codes: RecoveryCodes


def factor_view(factor: Factor) -> FactorView:
    view: Any = {
        "id": factor.id,
        "type": factor.type,
        "name": factor.name,
        "created_at": factor.created_at,
        "last_used_at": factor.last_used_at,
    }
    return cast(FactorView, view)


def enrolled_view(enrolled: Enrolled) -> EnrolledView:
    codes = enrolled.recovery_codes
    more: Any = {"recovery_codes": codes} if codes is not None else {}
    view: Any = {**signed_in_view(enrolled.signed_in), "factor": factor_view(enrolled.factor), **more}
    return cast(EnrolledView, view)
