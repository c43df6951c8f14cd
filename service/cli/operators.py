"""`auth-collections operator ...`: the people who run the deployment, and their tokens."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from service.cli.output import AsJson, print_json, print_values
from service.cli.runtime import run_command
from service.domain.permissions import EVERY, ROLES, Role, read_scope
from service.errors import ConfigurationError, Invalid

if TYPE_CHECKING:
    from service.domain.operators.invitations import OperatorInvitation
    from service.domain.operators.operator import Operator
    from service.services import Services

T = TypeVar("T")
HELP = "Invite, list, change and remove operators."
operator_app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None, add_completion=False)
token_app = typer.Typer(
    help="Make, list and revoke tokens of operators.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)
operator_app.add_typer(token_app, name="token")

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The operator's e-mail address.")]
ProjectOption = Annotated[str, typer.Option("--project", metavar="ID", help="The project; without it all of them.")]
RoleText = Annotated[
    str, typer.Option("--role", metavar="|".join(reversed(ROLES)), help="The role; only all projects have owners.")
]
Hours = Annotated[int, typer.Option("--hours", min=1, max=72, help="Hours for which the link is good.")]


@operator_app.command()
def invite(
    email: Email, role: RoleText = "owner", project: ProjectOption = EVERY, hours: Hours = 24, as_json: AsJson = False
) -> None:
    """Print a link that makes an operator's account, once."""
    roles = _read_roles(project, role)

    async def work(services: "Services") -> "OperatorInvitation":
        return await services.operators.invitations.invite(_normalize(email), roles, hours)

    _print_invitation(_run(work, may_begin=True), as_json=as_json)


@operator_app.command("list")
def list_operators(as_json: AsJson = False) -> None:
    """List operators."""
    found = [_describe(each) for each in _run(lambda services: services.operators.administration.list())]
    if as_json:
        print_json(found)
    for each in () if as_json else found:
        roles = ",".join(f"{project}:{role}" for project, role in each["roles"].items())
        typer.echo("\t".join([each["email"], each["name"], roles, "disabled" if each["disabled"] else "active"]))


@operator_app.command()
def show(email: Email, as_json: AsJson = False) -> None:
    """Show an operator."""
    print_values(_describe(_run(lambda services: _find(services, email))), as_json=as_json)


@operator_app.command("role")
def set_role(email: Email, role: RoleText, project: ProjectOption = EVERY, as_json: AsJson = False) -> None:
    """Give an operator a role in a project, or in all of them; `none` takes it away. All its sessions end."""
    given = {} if role == "none" else _read_roles(project, role)

    async def work(services: "Services") -> "Operator":
        from service.domain.operators.administration import OperatorChange

        operator = await _find(services, email)
        kept = {each: kind for each, kind in operator.roles.items() if each != project}
        return await services.operators.administration.change(operator.id, OperatorChange(roles=kept | given))

    print_values(_describe(_run(work)), as_json=as_json)


@operator_app.command()
def disable(email: Email, as_json: AsJson = False) -> None:
    """Disable an operator; all its sessions end, and its tokens are refused."""
    print_values(_describe(_run(lambda services: _set_disabled(services, email, disabled=True))), as_json=as_json)


@operator_app.command()
def enable(email: Email, as_json: AsJson = False) -> None:
    """Enable an operator again."""
    print_values(_describe(_run(lambda services: _set_disabled(services, email, disabled=False))), as_json=as_json)


@operator_app.command()
def remove(email: Email, as_json: AsJson = False) -> None:
    """Remove an operator, with its sessions and tokens."""

    async def work(services: "Services") -> "Operator":
        operator = await _find(services, email)
        await services.operators.administration.remove(operator.id)
        return operator

    print_values({"email": _run(work).email, "removed": True}, as_json=as_json)


@operator_app.command()
def reset(email: Email, hours: Hours = 24, as_json: AsJson = False) -> None:
    """Print a link by which an operator begins again: the way out after a lost password or phone."""

    async def work(services: "Services") -> "OperatorInvitation":
        operator = await _find(services, email)
        return await services.operators.invitations.reset({"_id": operator.id}, hours)

    _print_invitation(_run(work), as_json=as_json)


@token_app.command("create")
def create_token(
    email: Email,
    name: Annotated[str, typer.Option("--name", help="Name of the token, for people.")],
    scopes: Annotated[
        list[str], typer.Option("--scope", metavar="PROJECT:AREA:LEVEL", help="Such as shop:schema:write; repeatable.")
    ],
    days: Annotated[int, typer.Option("--days", min=1, max=400, help="Days until it expires.")] = 90,
    as_json: AsJson = False,
) -> None:
    """Make a token of an operator and print it, once."""
    if bad := next((scope for scope in scopes if read_scope(scope) is None), None):
        raise ConfigurationError(f"{bad}: expected <project or *>:<area or *>:<read or write>")
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise ConfigurationError("A token's name has 1 to 100 printable characters")

    async def work(services: "Services") -> Any:
        operator = await _find(services, email)
        return await services.operators.tokens.create(operator.id, name, scopes, days)

    made = _run(work)
    print_values({**_describe_token(made), "token": made.token or ""}, as_json=as_json)


@token_app.command("list")
def list_tokens(email: Email, as_json: AsJson = False) -> None:
    """List the tokens of an operator, without the tokens themselves."""

    async def work(services: "Services") -> Any:
        return await services.operators.tokens.list((await _find(services, email)).id)

    found = [_describe_token(each) for each in _run(work)]
    if as_json:
        print_json(found)
    for each in () if as_json else found:
        typer.echo("\t".join([each["id"], each["name"], ",".join(each["scopes"]), each["expires_at"]]))


@token_app.command("revoke")
def revoke_token(
    email: Email,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="The id, as `operator token list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Revoke a token of an operator."""

    async def work(services: "Services") -> None:
        await services.operators.tokens.revoke((await _find(services, email)).id, token_id)

    _run(work)
    print_values({"id": token_id, "revoked": True}, as_json=as_json)


def _run(work: "Callable[[Services], Awaitable[T]]", *, may_begin: bool = False) -> T:
    """Runs `work`. A refusal of what a person typed is one line."""

    async def run(services: "Services") -> T:
        try:
            return await work(services)
        except Invalid as error:
            raise ConfigurationError("; ".join(each.msg for each in error.violations)) from None

    return run_command(run, may_begin=may_begin)


async def _find(services: "Services", email: str) -> "Operator":
    """Raises OperatorNotFound."""
    return await services.operators.administration.find({"email": email.strip().lower()})


async def _set_disabled(services: "Services", email: str, *, disabled: bool) -> "Operator":
    from service.domain.operators.administration import OperatorChange

    operator = await _find(services, email)
    return await services.operators.administration.change(operator.id, OperatorChange(disabled=disabled))


def _normalize(email: str) -> str:
    from service.domain.accounts.emails import normalize_email

    try:
        return normalize_email(email)
    except ValueError as error:
        raise ConfigurationError(f"{email}: {error}") from None


def _read_roles(project: str, role: str) -> dict[str, Role]:
    known = next((each for each in ROLES if each == role), None)
    if known is None:
        raise ConfigurationError(f"--role is one of {', '.join(ROLES)}")
    if known == "owner" and project != EVERY:
        raise ConfigurationError("An owner is one of the whole deployment: leave out --project, or give another --role")
    return {project: known}


def _print_invitation(made: "OperatorInvitation", *, as_json: bool) -> None:
    from service.schema.values import write_time

    shown = {"id": made.id, "link": made.link or "", "expires_at": write_time(made.expires_at)}
    if as_json:
        print_json({"invitation": shown})
    else:
        typer.echo(shown["link"])


def _describe(operator: "Operator") -> dict[str, Any]:
    from service.schema.values import write_time

    seen = operator.last_seen_at
    return {
        "id": operator.id,
        "email": operator.email,
        "name": operator.name,
        "roles": dict(operator.roles),
        "factor": operator.factor is not None,
        "disabled": operator.disabled,
        "created_at": write_time(operator.created_at),
        "last_seen_at": write_time(seen) if seen else None,
    }


def _describe_token(token: Any) -> dict[str, Any]:
    from service.schema.values import write_time

    used = token.last_used_at
    return {
        "id": token.id,
        "name": token.name,
        "scopes": list(token.scopes),
        "created_at": write_time(token.created_at),
        "expires_at": write_time(token.expires_at),
        "last_used_at": write_time(used) if used else None,
    }
