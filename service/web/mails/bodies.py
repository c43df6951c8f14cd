"""Answers of the endpoints of mails, with examples."""

from typing import Literal

from typing_extensions import TypedDict

from service.domain.mail_flows.mailbox import MailEntry, MailList, Message
from service.mail.texts import KINDS
from service.web.openapi.declaration import Schema
from service.web.openapi.shapes import EXAMPLE_TIME, Limit, Offset, Time, WholeNumber

EXAMPLE_MAIL_ID = "4bS9uQmXk1dW0p2RzV7nYA"
MAIL_ID: dict[str, Schema] = {
    "id": {
        "description": "The mail's id.",
        "schema": {"type": "string", "pattern": "^[^/]+$"},
        "example": EXAMPLE_MAIL_ID,
    }
}
EXAMPLE_MAIL = {
    "id": EXAMPLE_MAIL_ID,
    "to": "ann@example.com",
    "kind": "verify_email",
    "status": "queued",
    "attempts": 1,
    "created_at": EXAMPLE_TIME,
}
EXAMPLE_MESSAGE = {
    "id": EXAMPLE_MAIL_ID,
    "to": "ann@example.com",
    "subject": "Confirm your address for Shop",
    "text": "Is this your address?",
    "html": "<!doctype html>",
    "kind": "verify_email",
    "code": "402719",
    "link": "https://auth.example.com/auth-collections/link?t=Zt0rXk8J",
    "created_at": EXAMPLE_TIME,
}
Kind = Literal[KINDS]  # type: ignore[valid-type]
Status = Literal["kept", "queued", "sent", "failed"]


class MailView(TypedDict):
    id: str
    to: str | None
    kind: Kind
    status: Status
    attempts: WholeNumber
    created_at: Time


class MailPageView(TypedDict):
    mails: list[MailView]
    total: WholeNumber
    limit: Limit
    offset: Offset


class MessageView(TypedDict):
    """`text`, `html`, `code` and `link` are null once the mail was sent, as all else that it was made from."""

    id: str
    to: str | None
    subject: str | None
    text: str | None
    html: str | None
    kind: Kind
    code: str | None
    link: str | None
    created_at: Time


class MessageList(TypedDict):
    messages: list[MessageView]


def mail_view(mail: MailEntry) -> MailView:
    return {
        "id": mail.id,
        "to": mail.to,
        "kind": mail.kind,
        "status": mail.status,  # type: ignore[typeddict-item]
        "attempts": mail.attempts,
        "created_at": mail.created_at,
    }


def list_view(page: MailList, *, limit: int, offset: int) -> MailPageView:
    return {"mails": [mail_view(mail) for mail in page.mails], "total": page.total, "limit": limit, "offset": offset}


def message_view(message: Message) -> MessageView:
    return {
        "id": message.id,
        "to": message.to,
        "subject": message.subject,
        "text": message.text,
        "html": message.html,
        "kind": message.kind,
        "code": message.code,
        "link": message.link,
        "created_at": message.created_at,
    }
