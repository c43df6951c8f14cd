"""From the contents of a mail to its message: a text, and the same as HTML in our layout, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from service.mail.templates import read_layouts
from service.mail.texts import Language, Texts, find_language, find_text

LAYOUTS = read_layouts()


@dataclass(frozen=True, slots=True)
class Occasion:
    """The reason and contents of a mail; an absent code or link is ''."""

    kind: str
    to: str
    project: str
    locale: str | None = None
    code: str = field(default="", repr=False)
    link: str = field(default="", repr=False)
    minutes: int = 0


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as people read it."""

    subject: str
    text: str = field(repr=False)
    html: str = field(repr=False)


def write_letter(occasion: Occasion, own: Texts) -> Letter:
    """By the project's own texts where it has some for this."""
    language = find_language(occasion.locale)
    # The owner of an address that is to be left approves by a link, without a code.
    variant = "approval" if occasion.kind == "change_email" and not occasion.code else ""
    text = find_text(own, occasion.kind, occasion.locale, variant=variant).fill(_values(occasion, language))
    context = {"occasion": occasion, "text": text, "around": _around(occasion, language), "language": language.name}
    return Letter(
        " ".join(text.subject.split()),
        LAYOUTS.get_template("letter.txt").render(context),
        LAYOUTS.get_template("letter.html").render(context),
    )


def _values(occasion: Occasion, language: Language) -> Mapping[str, str]:
    return {
        "project": occasion.project,
        "email": occasion.to,
        "code": occasion.code,
        "link": occasion.link,
        "minutes": str(occasion.minutes),
        "life": language.describe_minutes(occasion.minutes),
    }


def _around(occasion: Occasion, language: Language) -> Mapping[str, str]:
    life = language.describe_minutes(occasion.minutes)
    values = {"{project}": occasion.project, "{life}": life}
    found = dict(language.around)
    for name in ("sent_by", "code_life"):
        for placeholder, value in values.items():
            found[name] = found[name].replace(placeholder, value)
    return found


def write_message(letter: Letter, *, sender: Address, to: str, message_id: str, date: datetime) -> EmailMessage:
    """With the same `message_id` each time it is sent, so that a mailbox can tell a mail that came twice."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = letter.subject
    message["Date"] = format_datetime(date)
    message["Message-ID"] = message_id
    # No holiday notice answers it (RFC 3834 section 5).
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.text)
    message.add_alternative(letter.html, subtype="html")
    return message
