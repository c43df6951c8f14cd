"""Finds the purpose of a code or a link, and carries it out."""

from dataclasses import dataclass

from service.domain.accounts import Accounts
from service.domain.accounts.users import OpenedSession
from service.domain.confirmations.email_changes import CHANGE, EmailChange, finish_email_change
from service.domain.confirmations.sign_ins import SIGN_IN, finish_sign_in, sign_in_by_mail
from service.domain.confirmations.signups import must_prove
from service.domain.confirmations.verification import VERIFY, Ownership, finish_verification
from service.domain.projects.lookup import Project


@dataclass(frozen=True, slots=True)
class EmailProven:
    """The address is the user's."""


Outcome = EmailProven | OpenedSession | EmailChange


async def confirm_by_code(
    accounts: Accounts, project: Project, flow_id: str, code: str, ownership: Ownership
) -> Outcome:
    """Signs in, if it is for that, or the signup waited for it.

    Raises InvalidCode, LimitExceeded, AccountDisabled, EmailInUse, WrongPassword, Busy.
    """
    client = ownership.client
    flow = await accounts.flows.find_by_code(project, flow_id, code, (VERIFY, SIGN_IN, CHANGE))
    if flow.purpose == CHANGE:
        return await finish_email_change(accounts, project, flow)
    if flow.purpose == SIGN_IN:
        return await finish_sign_in(accounts, project, flow, client)
    if flow.user_id is None or not must_prove(project):
        await finish_verification(accounts, project, flow, ownership)
        return EmailProven()
    account = await finish_verification(accounts, project, flow, ownership)
    return await sign_in_by_mail(accounts, project, account, client)


async def confirm_by_token(accounts: Accounts, project: Project, token: str, ownership: Ownership) -> Outcome:
    """The token of a link that signs in is not for here: a program may have followed it.

    Raises InvalidCode, EmailInUse, WrongPassword, LimitExceeded, Busy.
    """
    flow = await accounts.flows.find_by_token(token, (VERIFY, CHANGE), project)
    if flow.purpose == CHANGE:
        return await finish_email_change(accounts, project, flow)
    await finish_verification(accounts, project, flow, ownership)
    return EmailProven()
