"""The declarations of web/factors."""

from typing import Any

from service.errors import (
    AccountDisabled,
    Busy,
    EmailNotVerified,
    FactorExists,
    FactorNotFound,
    FactorsOff,
    InvalidCode,
    InvalidFactor,
    LastSignInMethod,
    NoFactor,
    StepUpRequired,
    WrongPassword,
)
from service.web.accounts.openapi import EXAMPLE_LOGIN, EXAMPLE_SIGNED_IN, SECOND_FACTORS, SIGNED_IN
from service.web.factors.bodies import (
    EnrolledView,
    FactorForm,
    FactorList,
    FactorNameForm,
    FactorView,
    NewTotpView,
    RecoveryCodesView,
    StepUpForm,
    TotpCodeForm,
    TotpForm,
)
from service.web.factors.credentials import EXAMPLE_FLOW, EXAMPLE_USED
from service.web.http.proofs import EXAMPLE_CODE, EXAMPLE_RECOVERY_CODE
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse

RECENT = "For ten minutes after a sign-in or a step-up, by the second factor where the user has one."
ON_THE_WAY = f"{RECENT} Or with a key and the `flow_id` of `mfa_enrolment_required`, until the user has a factor."
WAYS: dict[str, dict[str, Any]] = {
    "an app": {"totp": EXAMPLE_CODE},
    "a recovery code": {"recovery_code": EXAMPLE_RECOVERY_CODE},
    "a passkey": {"flow_id": EXAMPLE_FLOW, "credential": EXAMPLE_USED},
}
EXAMPLE_FACTOR = {
    "id": shapes.EXAMPLE_ID,
    "type": "totp",
    "name": "My phone",
    "created_at": shapes.EXAMPLE_TIME,
    "last_used_at": shapes.EXAMPLE_TIME,
}
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # noqa: S105 - an example
EXAMPLE_URI = f"otpauth://totp/My%20app:ann@example.com?secret={SECRET}&issuer=My%20app"
ONE_FACTOR = Content(type=FactorView, examples={"an app": EXAMPLE_FACTOR})

LOGIN_FACTOR = Operation(
    id="loginFactor",
    tag=tags.FACTORS,
    description="The flow is the one of `mfa_required`. It is good for ten minutes and once, and judges five codes; another "
    "password ends it.",
    body=(Content(type=FactorForm, examples={title: {"flow_id": EXAMPLE_FLOW, **way} for title, way in WAYS.items()}),),
    answers=(SuccessResponse(description="The user, with a new token", content=(SIGNED_IN,)),),
    errors=(InvalidFactor, AccountDisabled, EmailNotVerified),
)
STEP_UP = Operation(
    id="stepUp",
    tag=tags.FACTORS,
    description="The present session ends, and the answer has a new one, with which for ten minutes what needs a recent "
    "sign-in can be done. A password does where the user has no second factor. Counted as a login.",
    body=(Content(type=StepUpForm, examples={"a password": {"password": EXAMPLE_LOGIN["password"]}, **WAYS}),),
    answers=(SuccessResponse(description="The user, with a new token", content=(SIGNED_IN,)),),
    errors=(WrongPassword, InvalidFactor, *SECOND_FACTORS, AccountDisabled, EmailNotVerified, Busy),
)
LIST = Operation(
    id="listFactors",
    tag=tags.FACTORS,
    answers=(
        SuccessResponse(
            description="The factors, without their secrets",
            content=(
                Content(
                    type=FactorList,
                    examples={"an app": {"factors": [EXAMPLE_FACTOR], "recovery_codes_left": 10}},
                ),
            ),
        ),
    ),
)
BEGIN_TOTP = Operation(
    id="beginTotp",
    tag=tags.FACTORS,
    description=f"{ON_THE_WAY} The secret is good once a code of it is confirmed, for ten minutes.",
    body=(Content(type=TotpForm, examples={"a phone": {"name": "My phone"}}),),
    needs_body=False,
    answers=(
        SuccessResponse(
            status=201,
            description="What an authenticator app is told",
            content=(
                Content(
                    type=NewTotpView,
                    examples={"a secret": {"id": shapes.EXAMPLE_ID, "secret": SECRET, "uri": EXAMPLE_URI}},
                ),
            ),
        ),
    ),
    errors=(InvalidCode, FactorExists, FactorsOff),
)
CONFIRM_TOTP = Operation(
    id="confirmTotp",
    tag=tags.FACTORS,
    description=f"{ON_THE_WAY} The present session ends, and the answer has a new one. Recovery codes come with the first "
    "factor.",
    body=(Content(type=TotpCodeForm, examples={"a code": {"code": EXAMPLE_CODE}}),),
    answers=(
        SuccessResponse(
            description="The user, with a new token, and the factor",
            content=(
                Content(
                    type=EnrolledView,
                    examples={
                        "the first": {
                            **EXAMPLE_SIGNED_IN,
                            "factor": EXAMPLE_FACTOR,
                            "recovery_codes": [EXAMPLE_RECOVERY_CODE],
                        }
                    },
                ),
            ),
        ),
    ),
    errors=(InvalidCode, FactorExists, FactorsOff, AccountDisabled, EmailNotVerified),
)
RENAME = Operation(
    id="renameFactor",
    tag=tags.FACTORS,
    body=(Content(type=FactorNameForm, examples={"a phone": {"name": "My old phone"}}),),
    answers=(SuccessResponse(description="The factor afterwards", content=(ONE_FACTOR,)),),
    errors=(FactorNotFound,),
)
REMOVE = Operation(
    id="removeFactor",
    tag=tags.FACTORS,
    description=f"{RECENT} The recovery codes go with the last factor.",
    answers=(SuccessResponse(status=204, description="The factor is gone"),),
    errors=(FactorNotFound, LastSignInMethod),
)
RECOVERY_CODES = Operation(
    id="replaceRecoveryCodes",
    tag=tags.FACTORS,
    description=f"{RECENT} The old ones are good for nothing any more.",
    answers=(
        SuccessResponse(
            status=201,
            description="The codes, which are shown once",
            content=(Content(type=RecoveryCodesView, examples={"codes": {"recovery_codes": [EXAMPLE_RECOVERY_CODE]}}),),
        ),
    ),
    errors=(NoFactor, StepUpRequired),
)
