"""Bodies and answers of the endpoints of flows."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.domain.confirmations.resets import NewSecret
from service.domain.mail_flows.codes import CODE_DIGITS, MAX_TOKEN
from service.domain.sessions.sessions import Client
from service.errors import Invalid
from service.mail.texts import LOCALE
from service.web.auth.captcha import CaptchaToken
from service.web.http.emails import Email, EmailText
from service.web.http.passwords import NewPassword, Password
from service.web.http.proofs import WAYS, Digits, OneRecoveryCode, check_one, read_proof
from service.web.openapi.tickets import EXAMPLE_FLOW

EXAMPLE_CODE = "402719"
EXAMPLE_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
EXAMPLE_TOKEN = "Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw"  # noqa: S105 - an example

Locale = Annotated[str, Field(max_length=35, pattern=f"^{LOCALE.pattern}$", examples=["de-AT"])]
RedirectTo = Annotated[
    str, Field(max_length=2048, description="One of the project's REDIRECT_URLS; the first where none is named")
]
FlowId = Annotated[str, Field(min_length=1, max_length=MAX_TOKEN, examples=[EXAMPLE_FLOW])]
Code = Annotated[
    str, Field(max_length=MAX_TOKEN, description=f"The {CODE_DIGITS} digits of the mail", examples=[EXAMPLE_CODE])
]
Token = Annotated[str, Field(max_length=MAX_TOKEN, description="What follows `t=` in the mail's link")]


class MailForm(BaseModel):
    """Whom to mail, in which language, and where the mail's link leads in the end."""

    model_config = ConfigDict(strict=True, extra="forbid")

    email: Email
    locale: Locale | None = None
    redirect_to: RedirectTo | None = None
    captcha_token: CaptchaToken | None = None


class SignInForm(MailForm):
    """As for any mail. The mail has a link with a `code_challenge` only, and `create` makes an account of who has none."""

    code_challenge: Annotated[
        str | None,
        Field(pattern="^[A-Za-z0-9_-]{43}$", examples=[EXAMPLE_CHALLENGE], description="By S256 (RFC 7636)"),
    ] = None
    create: bool = False


class ProofForm(BaseModel):
    """Either `flow_id` and `code`, or `token`."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"oneOf": [{"required": ["flow_id", "code"]}, {"required": ["token"]}]},
    )

    flow_id: FlowId | None = None
    code: Code | None = None
    token: Token | None = None


class ConfirmForm(ProofForm):
    """What a mail brought: either `flow_id` and `code`, or `token`. `password` is the account's, to prove an address."""

    password: Password | None = None


class ResetFactor(BaseModel):
    """One of the ways in which the user has a second factor."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"oneOf": [{"required": [name]} for name in WAYS]}
    )

    totp: Digits | None = None
    recovery_code: OneRecoveryCode | None = None


class ResetForm(ProofForm):
    """What a mail brought, either `flow_id` and `code`, or `token`; and the password to have from now on.

    `factor` is for whoever has a second factor.
    """

    password: NewPassword
    factor: ResetFactor | None = None


def read_new_secret(form: ResetForm, client: Client) -> NewSecret:
    """Raises Invalid for a factor that is none, or several."""
    factor = form.factor
    if factor is None:
        return NewSecret(form.password, client)
    check_one(factor, WAYS, ("body", "factor"))
    return NewSecret(form.password, client, read_proof(factor.totp, factor.recovery_code))


def check_proof(form: ProofForm) -> None:
    """Raises Invalid where neither is whole, or both are there."""
    by_code, by_token = form.flow_id is not None and form.code is not None, form.token is not None
    is_mixed = by_token and (form.flow_id is not None or form.code is not None)
    if is_mixed or not (by_code or by_token):
        raise Invalid.one(("body",), "Send either flow_id and code, or token", type_="value_error")


class EmailVerified(TypedDict):
    email_verified: Literal[True]


class EmailChangeView(TypedDict):
    email: Annotated[EmailText, Field(description="The address in force")]
    waiting_for: Annotated[Literal["new", "old"] | None, Field(description="Whose mail must be answered yet")]
