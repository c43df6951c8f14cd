"""The declarations of web/flows."""

from service.errors import InvalidCode
from service.web.flows.bodies import (
    EXAMPLE_CODE,
    EXAMPLE_FLOW,
    EXAMPLE_TOKEN,
    ConfirmForm,
    EmailVerified,
    FlowView,
    MailForm,
)
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse

UNIFORM = (
    "The answer is the same whether or not somebody was mailed. "
    "A second request within 60 seconds is answered as the first was."
)
FLOW = SuccessResponse(
    status=202,
    description="What the code of the mail is good with",
    content=(
        Content(
            type=FlowView,
            examples={"a flow": {"flow_id": EXAMPLE_FLOW, "expires_at": shapes.EXAMPLE_TIME}},
        ),
    ),
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
CONFIRM = Operation(
    id="confirm",
    tag=tags.MAILS,
    description="Each code and each link is good once. Of a flow five codes are judged.",
    body=(Content(type=ConfirmForm, examples=PROOFS),),
    answers=(
        SuccessResponse(
            description="The address is the user's",
            content=(Content(type=EmailVerified, examples={"verified": {"email_verified": True}}),),
        ),
    ),
    errors=(InvalidCode,),
)
