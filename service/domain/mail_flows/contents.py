"""The contents of a mail, sealed beside its flow until SMTP has taken it."""

import json
from dataclasses import asdict, dataclass, field

from service.domain.mail_flows.routes import life_of
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import SecretBox
from service.errors import ConfigurationError
from service.mail.letters import Letter, Occasion, write_letter
from service.storage.client import Document


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
