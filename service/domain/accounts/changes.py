"""The one way to change an account. Each change is one transaction, with its event and with all that follows from it.

`apply` goes these steps: it checks that the caller's token is still in force, writes the change, ends sessions, voids codes and
links of mails, stores the notice and the events. After the commit the worker forgets the user, and wakes the outbox.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from service.domain.access.caller import UserCaller
from service.domain.access.control import AccessControl
from service.domain.accounts.change_events import Fact, find_facts
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.purposes import Purpose
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Client
from service.errors import InvalidToken, UserNotFound
from service.storage.account_writes import Condemned, delete_account, write_account
from service.storage.accounts import Account, AccountChange, find_account, read_account
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_events
from service.storage.files.deletions import remove
from service.storage.users import NewUser, Users

# The change that an account as it is calls for; None where it calls for none. Raises what forbids it.
Decide = Callable[[Account], AccountChange | None]
# A part of the transaction that comes before the account is read, such as the spending of a code.
First = Callable[[ProjectDatabase], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Author:
    """The actor of a change, and the client that asks for it. `locale` is the language of the notice.

    The token of a `caller` must be in force in the transaction. `by` stands in the events: "mail" where the code or the link
    of one was the proof, the user who gave the roles where rules delegate them.
    """

    actor: Actor = Actor.USER
    client: Client | None = None
    sid: str | None = None
    locale: str | None = None
    caller: UserCaller | None = None
    by: str | None = None

    @classmethod
    def of(cls, caller: UserCaller, client: Client, locale: str | None = None) -> "Author":
        """A user who changes the own account."""
        return cls(client=client, sid=caller.sid, locale=locale, caller=caller)

    def event(self, fact: Fact, user_id: str) -> Event:
        client, by = self.client, {"by": self.by} if self.by is not None else {}
        ip, user_agent = (client.ip, client.user_agent) if client is not None else (None, None)
        return Event(fact.type, user_id, self.actor, self.sid, ip, user_agent, {**fact.detail, **by})


SERVER = Author(Actor.SERVER)


@dataclass(frozen=True, slots=True)
class Changed:
    """An account before and after a change; the same where nothing was to change."""

    before: Account
    after: Account

    @property
    def version(self) -> int:
        """The version of the user's tokens from now on."""
        return self.after.user.version


class Changes:
    """Applies changes, and removes accounts. Raises the errors of the database."""

    def __init__(self, access: AccessControl, flows: Flows) -> None:
        self._access = access
        self._flows = flows

    async def apply(
        self,
        project: Project,
        user_id: str,
        change: AccountChange | Decide,
        author: Author,
        *,
        notice: str | None = None,
        first: First | None = None,
        database: ProjectDatabase | None = None,
    ) -> Changed:
        """Applies a change, or the one that a function decides on by the account as the transaction reads it.

        `notice` is the kind of the mail that tells the user. With a `database` it is a part of that one's transaction.
        Raises InvalidToken for a dead token, UserNotFound, DuplicateValue, TooLarge, and as `change` and `first`.
        """

        async def write(bound: ProjectDatabase) -> Changed:
            if first is not None:
                await first(bound)
            before = await _find(bound, user_id, author)
            wanted = change if isinstance(change, AccountChange) else change(before)
            if wanted is None:
                return Changed(before, before)
            return await self._write(bound, project, before, wanted, author, notice)

        return await (database or project.database).in_transaction(write)

    async def _write(
        self,
        database: ProjectDatabase,
        project: Project,
        before: Account,
        change: AccountChange,
        author: Author,
        notice: str | None,
    ) -> Changed:
        user_id = before.user.id
        is_disabled = change.disabled is True and not before.state.disabled
        ends = change.ends_sessions or is_disabled or _replaces_password(before, change)
        written = await write_account(database, before, change, ends=ends)
        after = read_account(database, written.record)
        if change.password is not None or after.user.email != before.user.email:
            await self._flows.void(user_id, database, project)
        if notice is not None and after.user.email is not None:
            purpose = Purpose(notice, after.user.email, user_id, locale=author.locale)
            await self._flows.insert(project, purpose, database)
        await self._record(database, project, user_id, find_facts(before, after, change), author)
        self._finish_later(database, project, user_id, written.condemned)
        if notice is not None:
            database.after_commit.append(self._wake)
        return Changed(before, after)

    async def create(self, project: Project, new: NewUser, author: Author, also: First | None = None) -> Account:
        """Stores a new user, with the event. Raises DuplicateValue, TooLarge, and as `also`, a part of the transaction."""

        async def write(bound: ProjectDatabase) -> Account:
            await Users(bound).insert(new)
            await self._record(bound, project, new.id, [Fact(EventType.USER_CREATED)], author)
            if also is not None:
                await also(bound)
            return await _find(bound, new.id, author)

        return await project.database.in_transaction(write)

    async def remove(
        self, project: Project, user_id: str, author: Author, *, when: Callable[[Account], bool] = lambda _: True
    ) -> None:
        """Removes a user with the sessions, files and mails. Events stay, as do records that name the user.

        The user stays where the account is not as `when` asks. Raises InvalidToken for a dead token, UserNotFound.
        """

        async def write(bound: ProjectDatabase) -> None:
            account = await _find(bound, user_id, author)
            if not when(account):
                return
            condemned = await delete_account(bound, account)
            await self._flows.remove_all(user_id, bound, project)
            await self._record(bound, project, user_id, [Fact(EventType.USER_DELETED)], author)
            self._finish_later(bound, project, user_id, condemned)

        await project.database.in_transaction(write)

    async def _record(
        self, database: ProjectDatabase, project: Project, user_id: str, facts: list[Fact], author: Author
    ) -> None:
        if facts:
            events = [author.event(fact, user_id) for fact in facts]
            await record_events(database, events, project.settings.event_days)

    def _finish_later(self, database: ProjectDatabase, project: Project, user_id: str, condemned: Condemned) -> None:
        """After the commit. The record is written by then: a sweep removes the files that could not be removed now."""

        async def finish() -> None:
            self._access.forget_user(project, user_id)
            if condemned is not None:
                await remove(database.outside, condemned)

        database.after_commit.append(finish)

    async def _wake(self) -> None:
        self._flows.wake()


def _replaces_password(before: Account, change: AccountChange) -> bool:
    """True but for the password of an anonymous user, who cannot sign in with it before there is an address."""
    return change.password is not None and not (before.user.is_anonymous and change.email is None)


async def _find(database: ProjectDatabase, user_id: str, author: Author) -> Account:
    """Raises InvalidToken, UserNotFound."""
    account, caller = await find_account(database, user_id), author.caller
    if caller is not None and (account is None or not caller.is_in_force(account.user)):
        raise InvalidToken
    if account is None:
        raise UserNotFound
    return account
