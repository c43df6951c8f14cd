"""A new password for who proves the address of an account: by the code or the link of a mail."""

from service.domain.access.control import AccessControl
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.passwords import Passwords
from service.domain.confirmations.verification import MailRequest
from service.domain.flows.flows import Flows
from service.domain.flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.errors import Invalid, InvalidCode
from service.storage.databases import ProjectDatabase
from service.storage.proven_emails import find_account, mark_verified
from service.storage.user_changes import replace_password

RESET, INVITE = "reset_password", "invite"
PASSWORD_CHANGED = "password_changed"  # noqa: S105 - a kind of mail


class Resets:
    """Of the passwords of a project's users, also of those who never had one."""

    def __init__(self, flows: Flows, passwords: Passwords, access: AccessControl) -> None:
        self._flows = flows
        self._passwords = passwords
        self._access = access

    async def request(self, project: Project, request: MailRequest) -> Ticket:
        """Mails whoever has the address. The same for everybody else, but no mail."""
        redirect_to = choose_redirect(project, request.redirect_to)
        account = await find_account(project.database, request.email)
        user_id = account.id if account is not None else None
        purpose = Purpose(RESET, request.email, user_id, locale=request.locale, redirect_to=redirect_to)
        return await self._flows.open(project, purpose)

    async def by_code(self, project: Project, flow_id: str, code: str, password: str) -> None:
        """Raises Invalid, which spends nothing, InvalidCode, LimitExceeded, Busy."""
        self.check(project, password)
        flow = await self._flows.find_by_code(project, flow_id, code, (RESET, INVITE))
        await self.finish(project, flow, password)

    async def by_token(self, project: Project, token: str, password: str) -> None:
        """Raises as `by_code`."""
        self.check(project, password)
        await self.finish(project, await self._flows.find_by_token(token, (RESET, INVITE), project), password)

    def check(self, project: Project, password: str, email: str | None = None) -> None:
        """Raises Invalid for a password that the project does not take."""
        if violations := check_password(password, project.settings, project.name, email):
            raise Invalid(violations)

    async def finish(self, project: Project, flow: Flow, password: str) -> None:
        """Stores the password; ends all sessions, voids the user's other flows, and tells the user.

        All of it in one transaction. Raises InvalidCode where the flow was spent, or the user has another address now; Invalid,
        which spends nothing, where the password is the address.
        """
        user_id = flow.user_id
        if user_id is None:
            raise InvalidCode
        self.check(project, password, flow.address)
        hashed = await self._passwords.hash(password, project.id)
        notice = Purpose(PASSWORD_CHANGED, flow.address, user_id, locale=flow.locale)

        async def write(database: ProjectDatabase) -> None:
            await self._flows.spend(flow, database)
            # Who reads the mail has the address.
            if not await mark_verified(database, user_id, flow.address):
                raise InvalidCode
            await replace_password(database, user_id, hashed)
            await self._flows.void(user_id, database, project)
            await self._flows.insert(project, notice, database)

        await project.database.in_transaction(write)
        self._access.forget_user(project, user_id)
        self._flows.wake()
