"""Links and codes for a user that a project's server hands over itself: what a mail would carry, without the mail."""

from dataclasses import dataclass, field
from datetime import datetime

from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.outgoing import Contents, life_of, open_contents
from service.domain.mail_flows.purposes import Purpose, choose_redirect
from service.domain.projects.lookup import Project
from service.errors import Invalid, UserNotFound
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.users import Users


@dataclass(frozen=True, slots=True)
class HandedLink:
    """The code is good with the `flow_id`; both are good until then."""

    url: str = field(repr=False)
    code: str = field(repr=False)
    flow_id: str
    expires_at: datetime


async def make_link(flows: Flows, project: Project, user_id: str, purpose: str, redirect_to: str | None) -> HandedLink:
    """Makes a link for a purpose that needs the user's address alone.

    Raises UserNotFound, and Invalid for an anonymous user, or where the project does not let links lead to `redirect_to`.
    """
    target = choose_redirect(project, redirect_to)
    event = Event(EventType.LINK_MADE, user_id, Actor.SERVER, detail={"purpose": purpose})

    async def write(database: ProjectDatabase) -> HandedLink:
        user = await Users(database).find_profile(user_id)
        if user is None:
            raise UserNotFound
        if user.email is None:
            raise Invalid.one(("path", "id"), "An anonymous user has no address to prove")
        wanted = Purpose(purpose, user.email, user_id, redirect_to=target)
        record = flows.record(project, wanted)
        carried = open_contents(flows.secret_box, record) or Contents(wanted.to)
        record["expires_at"] = record["created_at"] + life_of(purpose)
        # The flow is good like a mailed one. Without a mail, no list of mails shows it.
        del record["mail"]
        await flows.store.insert(record, database.session)
        await record_event(database, event, project.settings.event_days)
        return HandedLink(carried.link, carried.code, record["_id"], record["expires_at"])

    return await project.database.in_transaction(write)
