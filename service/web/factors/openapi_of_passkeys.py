"""The declarations of web/factors for passkeys."""

from typing import Any

from service.errors import (
    AccountDisabled,
    ConfigurationMissing,
    EmailNotVerified,
    FactorLimit,
    FactorsOff,
    InvalidCode,
    InvalidFactor,
    InvalidPasskey,
)
from service.passkeys.answers import RelyingParty
from service.passkeys.options import PasskeyOwner, creation_options, request_options
from service.web.accounts.openapi import EXAMPLE_SIGNED_IN, SIGNED_IN
from service.web.factors.bodies import EnrolledView
from service.web.factors.credentials import (
    EXAMPLE_FLOW,
    EXAMPLE_NEW,
    EXAMPLE_USED,
    LoginPasskeyForm,
    NewPasskeyForm,
    NewPasskeyOptions,
    NewPasskeyOptionsForm,
    NothingForm,
    PasskeyOptions,
    WaitingForm,
)
from service.web.factors.openapi import EXAMPLE_FACTOR, ON_THE_WAY
from service.web.http.proofs import EXAMPLE_RECOVERY_CODE
from service.web.openapi import tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, SuccessResponse

MISSING = ErrorExample(ConfigurationMissing, "WEBAUTHN_RP_ID key missing")
PARTY = RelyingParty("example.com", "My app", frozenset())
ASKED: dict[str, Any] = {"flow_id": EXAMPLE_FLOW, "publicKey": request_options(PARTY, b"challenge")}
TO_CREATE = creation_options(PARTY, PasskeyOwner(b"handle", "ann@example.com"), b"challenge", [])
NOTHING = (Content(type=NothingForm, examples={"nothing": {}}),)
FOR_BROWSERS = "`publicKey` is for `PublicKeyCredential.parse{}OptionsFromJSON()`."
TO_BE_USED = SuccessResponse(
    description="What to ask the browser for", content=(Content(type=PasskeyOptions, examples={"a passkey": ASKED}),)
)

STEP_UP_OPTIONS = Operation(
    id="askStepUp",
    tag=tags.FACTORS,
    description=FOR_BROWSERS.format("Request"),
    body=NOTHING,
    needs_body=False,
    answers=(TO_BE_USED,),
    errors=(MISSING,),
)
LOGIN_FACTOR_OPTIONS = Operation(
    id="askLoginFactor",
    tag=tags.FACTORS,
    description=f"The flow of `mfa_required` stays the same. {FOR_BROWSERS.format('Request')}",
    body=(Content(type=WaitingForm, examples={"a flow": {"flow_id": EXAMPLE_FLOW}}),),
    answers=(TO_BE_USED,),
    errors=(MISSING, InvalidFactor),
)
LOGIN_PASSKEY_OPTIONS = Operation(
    id="askLoginPasskey",
    tag=tags.FACTORS,
    description=f"No passkey is named, so the browser offers those that it has. {FOR_BROWSERS.format('Request')}",
    body=NOTHING,
    needs_body=False,
    answers=(TO_BE_USED,),
    errors=(MISSING,),
)
LOGIN_PASSKEY = Operation(
    id="loginPasskey",
    tag=tags.FACTORS,
    description="No other factor is asked for. The flow is good for ten minutes and once.",
    body=(
        Content(type=LoginPasskeyForm, examples={"a passkey": {"flow_id": EXAMPLE_FLOW, "credential": EXAMPLE_USED}}),
    ),
    answers=(SuccessResponse(description="The user, with a new token", content=(SIGNED_IN,)),),
    errors=(MISSING, InvalidPasskey, AccountDisabled, EmailNotVerified),
)
NEW_PASSKEY_OPTIONS = Operation(
    id="askNewPasskey",
    tag=tags.FACTORS,
    description=f"{ON_THE_WAY} {FOR_BROWSERS.format('Creation')}",
    body=(Content(type=NewPasskeyOptionsForm, examples={"by a user": {}, "on the way": {"flow_id": EXAMPLE_FLOW}}),),
    needs_body=False,
    answers=(
        SuccessResponse(
            description="What to ask the browser for",
            content=(
                Content(
                    type=NewPasskeyOptions,
                    examples={"a new one": {"flow_id": EXAMPLE_FLOW, "publicKey": TO_CREATE}},
                ),
            ),
        ),
    ),
    errors=(MISSING, InvalidCode, FactorsOff),
)
NEW_PASSKEY = Operation(
    id="addPasskey",
    tag=tags.FACTORS,
    description=f"{ON_THE_WAY} The present session ends, and the answer has a new one. Recovery codes come with the first "
    "factor.",
    body=(
        Content(
            type=NewPasskeyForm,
            examples={"a laptop": {"flow_id": EXAMPLE_FLOW, "credential": EXAMPLE_NEW, "name": "My laptop"}},
        ),
    ),
    answers=(
        SuccessResponse(
            status=201,
            description="The user, with a new token, and the passkey",
            content=(
                Content(
                    type=EnrolledView,
                    examples={
                        "the first": {
                            **EXAMPLE_SIGNED_IN,
                            "factor": EXAMPLE_FACTOR | {"type": "passkey", "name": "My laptop", "last_used_at": None},
                            "recovery_codes": [EXAMPLE_RECOVERY_CODE],
                        }
                    },
                ),
            ),
        ),
    ),
    errors=(MISSING, InvalidCode, FactorLimit, FactorsOff, AccountDisabled, EmailNotVerified),
)
