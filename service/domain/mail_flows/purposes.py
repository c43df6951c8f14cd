"""The purposes of flows, and the information for the client that asks and for the one that brings a code."""

from dataclasses import dataclass, field
from datetime import datetime

from service.domain.projects.lookup import Project
from service.errors import Invalid
from service.storage.client import Document


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a mail. Without a `user_id` there is no account, and no mail unless `is_open`.

    `to` is the address, `kind` the mail if its name differs from the purpose; a notice has neither code nor link. A second
    flow within a minute, to one address and for one purpose, is the first; `apart` distinguishes others from these.
    """

    name: str
    to: str
    user_id: str | None = None
    is_open: bool = False
    kind: str | None = None
    apart: str = ""
    locale: str | None = None
    redirect_to: str | None = None
    challenge: str | None = field(default=None, repr=False)
    has_link: bool = True
    has_code: bool = True
    state: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ticket:
    """The client's part of a flow: with the code of the mail it is good until then."""

    flow_id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow that was found by its code or its token. `address` is who was mailed."""

    id: str
    project_id: str
    purpose: str
    user_id: str | None
    address: str
    account: str
    locale: str | None
    redirect_to: str | None
    challenge: str | None = field(repr=False)
    expires_at: datetime
    state: Document = field(default_factory=dict)


def choose_redirect(project: Project, wanted: str | None) -> str | None:
    """One of the project's REDIRECT_URLS: the one that is wanted, else the first. Raises Invalid for any other."""
    known = project.settings.redirect_urls
    if wanted is not None and wanted not in known:
        raise Invalid.one(("body", "redirect_to"), "This is not one of the project's REDIRECT_URLS")
    return wanted or next(iter(known), None)
