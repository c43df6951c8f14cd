"""The declarations of web/mails."""

from service.bounds import MAX_LIMIT
from service.errors import MailNotFound, NotFound
from service.query.nodes import ListQuery
from service.query.options import MAX_OFFSET
from service.web.mails.bodies import MailPageView, MessageList
from service.web.mails.endpoints import ASSETS
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, Operation, Parameter, SuccessResponse

EXAMPLE_ID = "4bS9uQmXk1dW0p2RzV7nYA"
TEXT = {"type": "string"}
MAIL_ID = {
    "id": {"description": "The mail's id.", "schema": {"type": "string", "pattern": "^[^/]+$"}, "example": EXAMPLE_ID}
}
EXAMPLE_MAIL = {
    "id": EXAMPLE_ID,
    "to": "ann@example.com",
    "kind": "verify_email",
    "status": "queued",
    "attempts": 1,
    "created_at": shapes.EXAMPLE_TIME,
}
EXAMPLE_MESSAGE = {
    "id": EXAMPLE_ID,
    "to": "ann@example.com",
    "subject": "Confirm your address for Shop",
    "text": "Is this your address?",
    "html": "<!doctype html>",
    "kind": "verify_email",
    "code": "402719",
    "link": "https://auth.example.com/auth-collections/link?t=Zt0rXk8J",
    "created_at": shapes.EXAMPLE_TIME,
}
HERE = "Not found unless `serve` runs an embedded MongoDB and the request comes from this machine."

LIST = Operation(
    id="listMails",
    tag=tags.MAILS,
    description="Never a code, a link or a text. `to` is null once the mail was sent.",
    parameters=(
        Parameter(
            name="limit",
            description="Page size.",
            schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": ListQuery().limit},
        ),
        Parameter(
            name="offset",
            description="Number of mails to skip.",
            schema={"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0},
        ),
    ),
    answers=(
        SuccessResponse(
            description="One page of mails",
            content=(
                Content(
                    type=MailPageView,
                    examples={"a page": {"mails": [EXAMPLE_MAIL], "total": 1, "limit": 50, "offset": 0}},
                ),
            ),
        ),
    ),
)
RETRY = Operation(
    id="retryMail",
    tag=tags.MAILS,
    description="One that failed, or waits for its next try, or was kept because there was no server.",
    answers=(SuccessResponse(status=204, description="It is tried at once"),),
    errors=(MailNotFound,),
    path_parameters=MAIL_ID,
)
MAILBOX = Operation(
    id="mailbox",
    tag=tags.MAILS,
    description=HERE,
    answers=(SuccessResponse(description="The page", content=(Content(schema=TEXT, media_type="text/html"),)),),
    errors=(NotFound,),
)
MESSAGES = Operation(
    id="mailboxMessages",
    tag=tags.MAILS,
    description=HERE,
    answers=(
        SuccessResponse(
            description="The mails, with their codes and links",
            content=(Content(type=MessageList, examples={"one": {"messages": [EXAMPLE_MESSAGE]}}),),
        ),
    ),
    errors=(NotFound,),
)
ASSET = Operation(
    id="mailboxAsset",
    tag=tags.MAILS,
    description=HERE,
    answers=(
        SuccessResponse(
            description="The file",
            content=tuple(Content(schema=TEXT, media_type=each) for each in ("text/css", "text/javascript")),
        ),
    ),
    errors=(NotFound,),
    path_parameters={
        "asset": {
            "description": "A file of the mailbox.",
            "schema": {"type": "string", "enum": sorted(ASSETS)},
            "example": "mailbox.css",
        }
    },
)
