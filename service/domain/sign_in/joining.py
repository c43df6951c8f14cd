"""Joining an identity to an account that is there: only to its owner's, and whoever else knew its password is out."""

from dataclasses import replace

from service.domain.access.control import AccessControl
from service.domain.flows.flows import Flows
from service.domain.flows.purposes import Purpose
from service.domain.projects.lookup import Project
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.identities import ExistingUser, Identities
from service.storage.user_changes import replace_password
from service.storage.users import Identity

NOTICE = "password_changed"


class Joining:
    """What follows where a provider's authority for an address, and our own proof of it, say who owns an account."""

    def __init__(self, flows: Flows, access: AccessControl) -> None:
        self._flows = flows
        self._access = access

    async def join(self, project: Project, user: ExistingUser, identity: Identity, email: str) -> ExistingUser | None:
        """The user afterwards; None where the account is not any more what it was decided by.

        A scanner of mails, or a careless click, may have proven the address of an account that a stranger planted: so its
        sessions end, its password is void until it is reset by mail, and so are codes and links of mails. One transaction.
        Raises DuplicateValue where somebody else has the identity by now.
        """

        async def write(database: ProjectDatabase) -> int | None:
            if not await Identities(database).join(user, identity, email):
                return None
            # What is no hash matches no password.
            version = await replace_password(database, user.id, email)
            await self._flows.void(user.id, database, project)
            await self._flows.insert(project, Purpose(NOTICE, email, user.id), database)
            event = Event(EventType.IDENTITY_LINKED, user.id, Actor.USER, detail={"issuer": identity.issuer})
            await record_event(database, event, project.settings.event_days)
            return version

        version = await project.database.in_transaction(write)
        if version is None:
            return None
        self._access.forget_user(project, user.id)
        self._flows.wake()
        return replace(user, oauth_id=identity.subject, version=version, has_identity=True)
