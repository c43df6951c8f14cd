"""A project's users as others see them: lists of them, the values of a field, one of them."""

from collections.abc import Sequence
from typing import Any

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.accounts import Accounts
from service.domain.accounts.profile import sign_files
from service.domain.collections.catalog import Catalogs
from service.domain.lists import Listing
from service.domain.projects.lookup import Project
from service.errors import UserNotFound
from service.query.account_shape import ACCOUNTS, PROFILES
from service.query.bind import bind, bind_distinct
from service.query.names import Path
from service.query.nodes import ListQuery
from service.query.populate import Row
from service.query.related_counts import CountedRelation
from service.query.shapes import USERS, Shape
from service.rules.permissions import EVERYTHING
from service.rules.visible import VisibleUsers
from service.storage.users import StoredUser

# The fields that are read of a user for a list.
ROW = (*USERS.listed, "updated_at", "roles")


async def list_users(accounts: Accounts, catalogs: Catalogs, caller: ProjectCaller, query: ListQuery) -> Listing:
    """One page of the users whom the caller may read. Raises Invalid, and as `Lists.read`.

    Raises InvalidApiKey where only the secret key may, Unauthorized and Forbidden where no rule lets the caller.
    """
    shape = await _shape(accounts, caller)
    show = await accounts.protection.show(caller.project, [USERS.collection])
    counted = await _counted(accounts, catalogs, caller, query.counts)
    return await accounts.lists.read(caller.project.database, bind(query, shape), show, counted)


async def count_related(
    accounts: Accounts, catalogs: Catalogs, caller: ProjectCaller, user_id: str, names: Sequence[str]
) -> dict[str, int]:
    """Name of a `with_counts` → the number of records that refer to the user, as far as the caller may read them."""
    counted = await _counted(accounts, catalogs, caller, names)
    return await accounts.lists.count_related(caller.project.database, USERS.collection, user_id, counted)


async def _counted(
    accounts: Accounts, catalogs: Catalogs, caller: ProjectCaller, names: Sequence[str]
) -> tuple[CountedRelation, ...]:
    if not names:
        return ()
    everything = isinstance(caller, SecretKeyCaller)
    permissions = EVERYTHING if everything else await accounts.access.permit(caller, USERS.collection)
    see = accounts.access.make_see(caller, USERS.collection, permissions)
    return await catalogs.counts(caller.project, USERS.collection, names, see)


async def list_values(accounts: Accounts, project: Project, path: Path, query: ListQuery) -> Sequence[Any]:
    """The values of a field of the users whom `query` finds. Raises Invalid, and as `Lists.distinct`."""
    found = await accounts.lists.distinct(project.database, bind_distinct(path, query, ACCOUNTS))
    urls = project.database.file_urls
    return [urls.show_value(value) for value in found] if path[0] not in USERS.named else found


async def check_reader(accounts: Accounts, caller: ProjectCaller) -> None:
    """Refuses a caller who may read no user at all, as `list_users` does."""
    await _shape(accounts, caller)


async def _shape(accounts: Accounts, caller: ProjectCaller) -> Shape:
    return ACCOUNTS if isinstance(caller, SecretKeyCaller) else await _visible(accounts, caller)


async def find_user(accounts: Accounts, caller: ProjectCaller, user_id: str) -> Row:
    """A user with what the caller may read: {_id, email?, data, created_at, roles?}.

    Raises UserNotFound, and as `list_users`.
    """
    if isinstance(caller, SecretKeyCaller):
        row = await caller.project.users.find_row(user_id)
    else:
        shape = await _visible(accounts, caller)
        row = await accounts.lists.find(caller.project.database, user_id, shape, fields=ROW)
    if row is None:
        raise UserNotFound
    if not isinstance(caller, SecretKeyCaller) and getattr(caller, "user_id", None) != user_id:
        row.pop("roles", None)
    if caller.project.database.file_urls.names(row["data"]):
        await accounts.protection.sign_user(caller.project, user_id, row["data"])
    return row


async def _visible(accounts: Accounts, caller: ProjectCaller) -> VisibleUsers:
    return VisibleUsers(PROFILES, await accounts.access.permit(caller, USERS.collection))


async def show_user(accounts: Accounts, project: Project, user: StoredUser) -> Row:
    """A user as `find_user` gives one, URLs of files signed."""
    shown = await sign_files(accounts.protection, project, user)
    times = {"created_at": shown.created_at, "updated_at": shown.updated_at}
    return {"_id": shown.id, "email": shown.email, "data": shown.data, **times}
