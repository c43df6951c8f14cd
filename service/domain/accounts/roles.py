"""Roles of users: the rules on giving them, and giving them."""

from collections.abc import Mapping, Sequence

from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.access.control import require
from service.domain.access.relations import settle
from service.domain.access.roles import check_number, check_roles
from service.domain.accounts import Accounts
from service.domain.accounts.changes import SERVER, Author
from service.domain.sessions.sessions import Client
from service.errors import Forbidden, InvalidApiKey, UserNotFound
from service.query.reading import Reading
from service.query.tree import Tree, has_relations, to_filter
from service.rules.compiled import CompiledRules
from service.rules.ruleset import USERS, CollectionRules
from service.rules.templates import bind
from service.storage.accounts import Account, AccountChange
from service.storage.databases import ProjectDatabase
from service.storage.users import Users


async def find_assignable(accounts: Accounts, caller: ProjectCaller, user_id: str) -> frozenset[str] | None:
    """The roles that `caller` may give to a user and take; None for all.

    Raises InvalidApiKey in a project without rules, and Unauthorized for guests or Forbidden where there are none.
    """
    if isinstance(caller, SecretKeyCaller):
        return None
    compiled = await accounts.access.rules(caller.project)
    if not compiled.rules.exist:
        raise InvalidApiKey
    assignable = await _delegated(accounts, caller, compiled)
    is_own = isinstance(caller, UserCaller) and caller.user_id == user_id
    require(bool(assignable) and not is_own, caller)
    return assignable


async def replace_roles(
    accounts: Accounts,
    caller: ProjectCaller,
    user_id: str,
    roles: Sequence[str],
    *,
    among: frozenset[str] | None,
    client: Client,
) -> list[str]:
    """Replaces the roles of a user and returns them. Callers with delegated roles see and replace just those.

    Raises Invalid, UserNotFound, and Forbidden for a role that is not `among` the assignable ones.
    """
    check_roles(roles)
    project = caller.project
    if among is None:
        wanted = AccountChange(roles=list(dict.fromkeys(roles)))
        return list((await accounts.changes.apply(project, user_id, wanted, SERVER)).after.state.roles)
    if not among.issuperset(roles):
        raise Forbidden
    match = to_filter(await _readable(accounts, caller, user_id))

    async def check_readable(database: ProjectDatabase) -> None:
        if not await Users(database).has_match(user_id, match):
            raise UserNotFound

    def keep_others(account: Account) -> AccountChange:
        others = [role for role in account.state.roles if role not in among]
        check_number([*others, *roles])
        return AccountChange(roles=list(dict.fromkeys([*others, *roles])))

    author = _author_of(caller, client)
    changed = await accounts.changes.apply(project, user_id, keep_others, author, first=check_readable)
    return [role for role in changed.after.state.roles if role in among]


async def _delegated(accounts: Accounts, caller: ProjectCaller, compiled: CompiledRules) -> frozenset[str]:
    assign: Mapping[str, object] = compiled.rules.assign
    # Every rule of `assign` is about the caller alone, so it is bound to true or false.
    values = await accounts.access.values(caller, compiled, CollectionRules())
    return frozenset(role for role in assign if bind(compiled.rules.assign[role], values) is True)


async def _readable(accounts: Accounts, caller: ProjectCaller, user_id: str) -> Tree:
    """The condition under which the caller may read the user; whom he may not, is not there for him."""
    tree = (await accounts.access.permissions(caller, USERS)).read
    if not has_relations(tree):
        return tree
    row = await caller.project.users.find_row(user_id)
    return row is not None and await settle(caller.project.database, tree, Reading(row))


def _author_of(caller: ProjectCaller, client: Client) -> Author:
    """A user to whom the rules give the right, whose id the event has as `by`."""
    user = caller if isinstance(caller, UserCaller) else None
    return Author(client=client, sid=user.sid if user else None, by=user.user_id if user else None)
