"""The mails of a project as its developers see them: in a list, in the mailbox, and sent again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from service.bounds import MAX_MAILBOX
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.outgoing import give_up_after, life_of, open_contents, write_mail
from service.domain.projects.lookup import Project
from service.errors import MailNotFound, ProjectNotFound
from service.schema.values import now
from service.storage.client import Document


@dataclass(frozen=True, slots=True)
class MailEntry:
    """A mail without its contents. `to` is None once it was sent."""

    id: str
    to: str | None
    kind: str
    status: str
    attempts: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MailList:
    """Some of a project's mails, newest first, and how many there are."""

    mails: list[MailEntry]
    total: int


@dataclass(frozen=True, slots=True)
class Message:
    """A mail with its contents, for developers; the contents are removed once it was sent."""

    id: str
    project_id: str
    kind: str
    status: str
    created_at: datetime
    to: str | None = None
    subject: str | None = None
    text: str | None = field(default=None, repr=False)
    html: str | None = field(default=None, repr=False)
    code: str | None = field(default=None, repr=False)
    link: str | None = field(default=None, repr=False)


async def list_mails(flows: Flows, project: Project, *, limit: int, offset: int) -> MailList:
    page = await flows.store.mails({"project_id": project.id}, limit=limit, offset=offset)
    return MailList([_entry(flows, flow) for flow in page.records], page.total)


async def list_mails_of(flows: Flows, project: Project, user_id: str, *, limit: int) -> MailList:
    """The newest mails to a user."""
    page = await flows.store.mails({"project_id": project.id, "user_id": user_id}, limit=limit, offset=0)
    return MailList([_entry(flows, flow) for flow in page.records], page.total)


async def retry_mail(flows: Flows, project: Project, mail_id: str) -> None:
    """Has it tried at once, as if it were new. Raises MailNotFound for one that was sent, too."""
    page = await flows.store.mails({"project_id": project.id, "_id": mail_id}, limit=1, offset=0)
    purpose = page.records[0]["purpose"] if page.records else ""
    life = life_of(purpose) + give_up_after(purpose)
    if not page.records or not await flows.store.queue(project.id, mail_id, now(), life):
        raise MailNotFound
    flows.outbox.wake()


async def read_messages(flows: Flows, project_id: str | None = None) -> Sequence[Message]:
    """The newest mails of a project, or of all of them."""
    match: Document = {"project_id": project_id} if project_id is not None else {}
    page = await flows.store.mails(match, limit=MAX_MAILBOX, offset=0)
    return [message for flow in page.records if (message := await _message(flows, flow)) is not None]


def _entry(flows: Flows, flow: Document) -> MailEntry:
    mail, contents = flow["mail"], open_contents(flows.secret_box, flow)
    to = contents.to if contents is not None else None
    return MailEntry(flow["_id"], to, mail["kind"], mail["status"], mail["attempts"], flow["created_at"])


async def _message(flows: Flows, flow: Document) -> Message | None:
    """None where its project is gone."""
    mail, contents = flow["mail"], open_contents(flows.secret_box, flow)
    sent = Message(flow["_id"], flow["project_id"], mail["kind"], mail["status"], flow["created_at"])
    try:
        project = await flows.projects.by_id(flow["project_id"])
    except ProjectNotFound:
        return None
    if contents is None:
        return sent
    letter = write_mail(project, flow, contents)
    return Message(
        sent.id,
        sent.project_id,
        sent.kind,
        sent.status,
        sent.created_at,
        to=contents.to,
        subject=letter.subject,
        text=letter.text,
        html=letter.html,
        code=contents.code or None,
        link=contents.link or None,
    )
