"""A mail beside its flow: its server and sender, its life, and its contents, sealed until SMTP has taken it."""

import json
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from email.headerregistry import Address
from urllib.parse import urlsplit

from service.domain.projects.lookup import Project
from service.domain.projects.secrets import SecretBox
from service.errors import ConfigurationError
from service.mail.letters import Letter, Occasion, write_letter
from service.mail.servers import MailServer, read_sender, read_server
from service.storage.client import Document

# The life of a code and a link, from the moment on at which SMTP took the mail.
LIFE = {
    "sign_in": timedelta(minutes=10),
    "verify_email": timedelta(hours=24),
    "reset_password": timedelta(hours=1),
    "change_email": timedelta(hours=24),
    "invite": timedelta(days=7),
}
NOTICE_LIFE = timedelta(hours=24)
# The age at which a mail is given up.
GIVE_UP = {"sign_in": timedelta(minutes=30)}
USUAL_GIVE_UP = timedelta(hours=72)


def life_of(purpose: str) -> timedelta:
    return LIFE.get(purpose, NOTICE_LIFE)


def give_up_after(purpose: str) -> timedelta:
    return GIVE_UP.get(purpose, USUAL_GIVE_UP)


@dataclass(frozen=True, slots=True)
class MailRoutes:
    """The environment's server and sender, in whose place a project may have its own."""

    server: MailServer | None
    sender: Address

    def server_of(self, project: Project) -> MailServer | None:
        """None where mails are kept."""
        own = project.settings.smtp_url
        if project.settings.mail_delivery == "keep":
            return None
        return read_server(own.get_secret_value()) if own is not None else self.server

    def sender_of(self, project: Project) -> Address:
        own = project.settings.mail_from
        return read_sender(own) if own is not None else self.sender


def read_routes(smtp_url: str | None, mail_from: str | None, base_url: str) -> MailRoutes:
    """Raises ConfigurationError."""
    host = urlsplit(base_url).hostname or "localhost"
    try:
        sender = read_sender(mail_from) if mail_from else Address("", "no-reply", host)
    except ValueError as error:
        raise ConfigurationError(f"MAIL_FROM {error}") from None
    try:
        return MailRoutes(read_server(smtp_url) if smtp_url else None, sender)
    except ValueError as error:
        raise ConfigurationError(f"SMTP_URL {error}") from None


@dataclass(frozen=True, slots=True)
class Contents:
    """`code` and `link` are '' if there is none."""

    to: str
    code: str = field(default="", repr=False)
    link: str = field(default="", repr=False)


def seal_contents(box: SecretBox, flow_id: str, contents: Contents) -> str:
    return box.seal(json.dumps(asdict(contents)), _place(flow_id))


def open_contents(box: SecretBox, flow: Document) -> Contents | None:
    """None if the contents were removed, or another SECRET_KEY sealed them."""
    sealed = flow["mail"].get("sealed")
    try:
        return Contents(**json.loads(box.open(sealed, _place(flow["_id"])))) if sealed else None
    except ConfigurationError:
        return None


def _place(flow_id: str) -> str:
    return f"flows/{flow_id}/mail"


def write_mail(project: Project, flow: Document, contents: Contents) -> Letter:
    mail = flow["mail"]
    occasion = Occasion(
        kind=mail["kind"],
        to=contents.to,
        project=project.name,
        locale=mail.get("locale"),
        code=contents.code,
        link=contents.link,
        minutes=int(life_of(flow["purpose"]).total_seconds() // 60),
    )
    return write_letter(occasion, project.settings.texts)
