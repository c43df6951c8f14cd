"""`auth-collections user ...`: a project's users, as the secret key sees them."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, print_json, print_values, read_pairs

if TYPE_CHECKING:
    from service.domain.lists import Listing
    from service.domain.projects.lookup import Project
    from service.foundation import Foundation
    from service.services import Services

user_app = typer.Typer(
    help="List, show, disable and delete the users of a project.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
UserName = Annotated[str, typer.Argument(metavar="USER", help="The user's id or e-mail address.")]
TIMES = ("created_at", "updated_at", "last_sign_in_at")
T = TypeVar("T")
Work = Callable[["Services", "Project", str], Awaitable[T]]


@user_app.command("list")
def list_users(
    project_id: ProjectId,
    filters: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILTER...]", help="As in a list over HTTP: roles_eq=admin limit=100."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List users, by filters such as roles_eq=admin, disabled_eq=true or email_verified_eq=false."""
    from service.cli.runtime import run_on_foundation

    listing = run_on_foundation(lambda base: _read_page(base, project_id, read_pairs(filters or [])))
    users = [_view(row) for row in listing.rows]
    if as_json:
        print_json({"users": users, "total": listing.total})
        return
    for user in users:
        typer.echo("\t".join([user["id"], user["email"] or "-", user["created_at"], *_marks(user)]))
    typer.echo(f"{len(users)} of {listing.total}", err=True)


async def _read_page(base: "Foundation", project_id: str, filters: Mapping[str, str]) -> "Listing":
    """As the secret key lists users. It imports less than all services do, which saves CPU."""
    from service.domain.access.control import AccessControl
    from service.domain.collections.catalog import Catalogs
    from service.domain.files import build_protection
    from service.domain.lists import Lists
    from service.errors import ConfigurationError, Invalid
    from service.query.account_shape import ACCOUNTS
    from service.query.bind import bind
    from service.query.parse import OTHERS, parse
    from service.query.shapes import USERS
    from service.settings import read_settings

    project, window = await base.admin.find(project_id), read_settings().file_url_window
    protection = build_protection(base, AccessControl(), Catalogs(), Lists(base.presence), window=window)
    try:
        query = bind(parse(filters.items(), OTHERS), ACCOUNTS)
        show = await protection.show(project, [USERS.collection])
        return await protection.lists.read(project.database, query, show)
    except Invalid as error:
        raise ConfigurationError("; ".join(f"{each.loc[-1]}: {each.msg}" for each in error.violations)) from None


@user_app.command()
def show(project_id: ProjectId, user: UserName, as_json: AsJson = False) -> None:
    """Show a user."""

    async def read(services: "Services", project: "Project", user_id: str) -> Mapping[str, Any]:
        from service.domain.access.caller import SecretKeyCaller
        from service.domain.accounts.directory import find_user

        return await find_user(services.accounts, SecretKeyCaller(project), user_id)

    row = _run(project_id, user, read)
    print_values(_view(row), as_json=as_json)


@user_app.command()
def disable(project_id: ProjectId, user: UserName, as_json: AsJson = False) -> None:
    """Disable an account: its sessions end, and no sign-in to it succeeds."""
    _set_disabled(project_id, user, True, as_json=as_json)


@user_app.command()
def enable(project_id: ProjectId, user: UserName, as_json: AsJson = False) -> None:
    """Enable an account that was disabled."""
    _set_disabled(project_id, user, False, as_json=as_json)


@user_app.command()
def delete(
    project_id: ProjectId,
    user: UserName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a user with the sessions, files and mails; records that name the user stay. Asks first, at a terminal."""
    if not yes and not sys.stdin.isatty():
        raise TyperException(f"This deletes the user {user}; add --yes to say so")
    if not yes:
        typer.confirm(f"Delete the user {user} of {project_id}?", abort=True, err=True)

    async def remove(services: "Services", project: "Project", user_id: str) -> str:
        from service.domain.accounts.administration import delete_user

        await delete_user(services.accounts, project, user_id)
        return user_id

    print_values({"id": _run(project_id, user, remove), "deleted": True}, as_json=as_json)


def _set_disabled(project_id: str, user: str, disabled: bool, *, as_json: bool) -> None:
    async def change(services: "Services", project: "Project", user_id: str) -> Mapping[str, Any]:
        from service.domain.accounts.administration import change_user
        from service.storage.accounts import AccountChange

        return await change_user(services.accounts, project, user_id, AccountChange(disabled=disabled))

    print_values(_view(_run(project_id, user, change)), as_json=as_json)


def _run(project_id: str, user: str, work: Work[T]) -> T:
    """Runs `work` on the user of that id or address. Raises ProjectNotFound, UserNotFound."""
    from service.cli.runtime import run_command
    from service.errors import UserNotFound

    async def find_and_work(services: "Services") -> T:
        project = await services.base.admin.find(project_id)
        found = await project.users.find_by_email(user.lower()) if "@" in user else None
        if found is None and "@" in user:
            raise UserNotFound
        return await work(services, project, found.id if found else user)

    return run_command(find_and_work)


def _view(row: Mapping[str, Any]) -> dict[str, Any]:
    from service.query.account_shape import show_account
    from service.schema.values import write_time

    times = {name: write_time(row[name]) for name in TIMES if row.get(name)}
    return {**show_account(row), **times}


def _marks(user: Mapping[str, Any]) -> list[str]:
    """The states of a user that a list shows: disabled, verified, roles."""
    state = [*(["disabled"] if user["disabled"] else []), "verified" if user["email_verified"] else "unverified"]
    return [",".join(state), ",".join(user.get("roles", ())), user.get("last_sign_in_at", "")]
