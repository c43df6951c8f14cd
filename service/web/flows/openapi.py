"""The declarations of web/flows."""

from service.domain.mail_flows.codes import MAX_TOKEN
from service.errors import AccountDisabled, Busy, EmailInUse, InvalidCode, InvalidFactor, InvalidToken, WrongPassword
from service.web.accounts.bodies import SignedIn
from service.web.accounts.openapi import EXAMPLE_SIGNED_IN, FACTOR_REQUIRED, SECOND_FACTORS
from service.web.flows.bodies import (
    EXAMPLE_CHALLENGE,
    EXAMPLE_CODE,
    EXAMPLE_TOKEN,
    ConfirmForm,
    EmailChangeView,
    EmailVerified,
    MailForm,
    ResetForm,
    SignInForm,
)
from service.web.http.proofs import EXAMPLE_CODE as EXAMPLE_FACTOR
from service.web.openapi import tags
from service.web.openapi.declaration import Content, Operation, Parameter, SuccessResponse
from service.web.openapi.tickets import EXAMPLE_FLOW, FLOW

UNIFORM = (
    "The answer is the same whether or not somebody was mailed. "
    "A second request within 60 seconds is answered with the first `flow_id`."
)
MAIL_FORM = Content(type=MailForm, examples={"an address": {"email": "ann@example.com", "locale": "de"}})
PROOFS = {"a code": {"flow_id": EXAMPLE_FLOW, "code": EXAMPLE_CODE}, "a link": {"token": EXAMPLE_TOKEN}}

VERIFY_EMAIL = Operation(
    id="verifyEmail",
    tag=tags.MAILS,
    description=f"Mails the user with this address a code and a link, unless the address is proven already. {UNIFORM}",
    body=(MAIL_FORM,),
    answers=(FLOW,),
)
CHANGE_EMAIL = Operation(
    id="changeEmail",
    tag=tags.ACCOUNTS,
    description="For ten minutes after a sign-in or a step-up. The new address is mailed a code and a link, the present one, "
    "if it is proven, a link to approve it; nothing changes before both are answered. The present one is told in any case. "
    "The answer is the same where the new address is somebody's.",
    body=(MAIL_FORM,),
    answers=(FLOW,),
)
LOGIN_EMAIL = Operation(
    id="loginByEmail",
    tag=tags.MAILS,
    description="Mails the user with this address a code, which `/auth-collections/confirm` takes, and, with a "
    f"`code_challenge` and REDIRECT_URLS, a link. {UNIFORM}",
    body=(
        Content(
            type=SignInForm,
            examples={
                "a code": {"email": "ann@example.com"},
                "a link": {"email": "ann@example.com", "code_challenge": EXAMPLE_CHALLENGE, "create": True},
            },
        ),
    ),
    answers=(FLOW,),
)
CONFIRM = Operation(
    id="confirm",
    tag=tags.MAILS,
    description="Each code and each link is good once. Of a flow five codes are judged. The first proof of an address keeps "
    "the account's password, factors, identities and sessions where the request has a token of the account, its `password`, "
    "or the `flow_id` of its signup; otherwise they go, for a stranger may have made the account.",
    body=(Content(type=ConfirmForm, examples=PROOFS),),
    answers=(
        SuccessResponse(
            description="The address is the user's; or, by the code, a sign-in, where the mail is for one or the signup waited",
            content=(
                Content(
                    type=EmailVerified | SignedIn | EmailChangeView,
                    examples={
                        "verified": {"email_verified": True},
                        "signed in": EXAMPLE_SIGNED_IN,
                        "another address": {"email": "ann@example.com", "waiting_for": "old"},
                    },
                ),
            ),
        ),
    ),
    errors=(InvalidCode, InvalidToken, WrongPassword, *SECOND_FACTORS, AccountDisabled, EmailInUse, Busy),
)
FORGOT_PASSWORD = Operation(
    id="forgotPassword",
    tag=tags.MAILS,
    description=f"Mails the user with this address a code and a link to choose another password. {UNIFORM}",
    body=(MAIL_FORM,),
    answers=(FLOW,),
)
PASSWORD = {"password": "a better password"}
RESET_PASSWORD = Operation(
    id="resetPassword",
    tag=tags.MAILS,
    description="Ends all sessions of the user, and signs nobody in. A password that is refused spends nothing, nor does a "
    "missing or wrong `factor` of somebody who has one.",
    body=(
        Content(
            type=ResetForm,
            examples={title: {**proof, **PASSWORD} for title, proof in PROOFS.items()}
            | {"with a factor": {"token": EXAMPLE_TOKEN, **PASSWORD, "factor": {"totp": EXAMPLE_FACTOR}}},
        ),
    ),
    answers=(SuccessResponse(status=204, description="The password is another one"),),
    errors=(InvalidCode, FACTOR_REQUIRED, InvalidFactor, Busy),
)
TEXT = {"type": "string"}
PAGE = Content(schema=TEXT, media_type="text/html")
LINK_PARAMETERS = (
    Parameter(name="t", description="The token of the mail.", schema={"type": "string", "maxLength": MAX_TOKEN}),
    Parameter(name="done", description="Shows that all is done.", schema=TEXT),
)
SHOW_LINK = Operation(
    id="showLink",
    tag=tags.MAILS,
    description="Looking at it, however often, changes nothing: programs look at the links of mails, too.",
    parameters=LINK_PARAMETERS,
    answers=(
        SuccessResponse(description="The page", content=(PAGE,)),
        SuccessResponse(status=400, description="A page: the link is not good any more", content=(PAGE,)),
    ),
)
FOLLOW_LINK = Operation(
    id="followLink",
    tag=tags.MAILS,
    description="A form of another origin is refused.",
    parameters=LINK_PARAMETERS,
    body=(
        Content(
            schema={
                "type": "object",
                "properties": {
                    "password": {"type": "string", "format": "password"},
                    "factor": {"type": "string"},
                    "without_password": {"type": "string"},
                },
            },
            media_type="application/x-www-form-urlencoded",
        ),
    ),
    answers=(
        SuccessResponse(description="A page that asks for the new password", content=(PAGE,)),
        SuccessResponse(
            status=303, description="Done", headers={"Location": "The project's page, or one that says so"}
        ),
        SuccessResponse(status=400, description="A page: the link is not good any more", content=(PAGE,)),
        SuccessResponse(status=403, description="A page: the form came from elsewhere", content=(PAGE,)),
        SuccessResponse(status=409, description="A page: the address is somebody else's by now", content=(PAGE,)),
    ),
    errors=(Busy,),
)
