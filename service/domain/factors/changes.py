"""What is said of a change of somebody's factors: an event, and a mail to the user, stored with the change itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.domain.flows.flows import Flows
from service.domain.flows.purposes import Purpose
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Client
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.users import User

NOTICE = "factor_changed"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, from where, in which session. Without a `client` a server did it; `locale` is that of the mail."""

    type: EventType
    client: Client | None = None
    sid: str | None = None
    locale: str | None = None
    detail: Mapping[str, str] = field(default_factory=dict)


async def note_change(flows: Flows, database: ProjectDatabase, project: Project, user: User, change: Change) -> None:
    """Within the transaction of the change; `flows.wake` when that is committed."""
    client = change.client
    event = Event(
        change.type,
        user.id,
        Actor.USER if client is not None else Actor.SERVER,
        change.sid,
        client.ip if client is not None else None,
        client.user_agent if client is not None else None,
        change.detail,
    )
    await record_event(database, event, project.settings.event_days)
    await flows.insert(project, Purpose(NOTICE, user.email, user.id, locale=change.locale), database)
