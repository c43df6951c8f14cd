"""`auth-collections provider ...`: where a project's users may sign in."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json, print_trial, print_values, read_pairs
from service.cli.runtime import run_command, run_on_foundation

if TYPE_CHECKING:
    from service.domain.projects import lookup
    from service.domain.projects.provider_administration import ProviderEntry
    from service.foundation import Foundation
    from service.schema.outcomes import Trial
    from service.services import Services

provider_app = typer.Typer(
    help="Set, list, show, check and remove identity providers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The project's name of the provider.")]


@provider_app.command("set")
def set_provider(
    project_id: Project,
    name: Name,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Settings; KEY= takes one away.")
    ] = None,
    preset: Annotated[str | None, typer.Option("--preset", help="The kind of provider; NAME by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a provider, or change one; in force within five seconds."""
    changes = {key: value or None for key, value in read_pairs(settings or []).items()}

    async def change(base: "Foundation") -> "tuple[ProviderEntry, lookup.Project]":
        entry = await base.providers.set(project_id, name, preset, changes)
        return entry, await base.admin.find(project_id)

    entry, project = run_on_foundation(change)
    print_values(_described(entry), as_json=as_json)
    _warn_of_address(entry)
    _warn_of_page(project, name)


@provider_app.command("list")
def list_providers(project_id: Project, as_json: AsJson = False) -> None:
    """List the providers of a project."""
    entries = [_summary(entry) for entry in run_on_foundation(lambda base: base.providers.list(project_id))]
    if as_json:
        print_json(entries)
    else:
        typer.echo("\n".join("\t".join(value or "-" for value in entry.values()) for entry in entries))


@provider_app.command()
def show(project_id: Project, name: Name, as_json: AsJson = False) -> None:
    """Show a provider and the redirect URL to register there; secrets are masked."""
    entry = run_on_foundation(lambda base: base.providers.find(project_id, name))
    print_values(_described(entry), as_json=as_json)
    _warn_of_address(entry)


@provider_app.command()
def check(project_id: Project, name: Name, as_json: AsJson = False) -> None:
    """Try a provider as a sign-in would use it: its configuration, keys and endpoints. Status 1 if a step fails."""
    from service.domain.projects.providers import DEFAULT

    async def work(services: "Services") -> "Trial":
        project = await services.base.admin.find(project_id)
        return await services.trials.check_provider(project, None if name == DEFAULT else name)

    print_trial(run_command(work), as_json=as_json)


@provider_app.command()
def remove(project_id: Project, name: Name, as_json: AsJson = False) -> None:
    """Remove a provider; users who signed in there stay, and cannot sign in there any more."""
    run_on_foundation(lambda base: base.providers.remove(project_id, name))
    print_values({"project_id": project_id, "id": name, "removed": True}, as_json=as_json)


def _summary(entry: "ProviderEntry") -> dict[str, str | None]:
    return {"id": entry.name, "name": entry.title, "preset": entry.preset, "redirect_url": entry.redirect_url}


def _warn_of_address(entry: "ProviderEntry") -> None:
    """Warns if the redirect URL is a guess: no BASE_URL is set, and not exactly one server of this folder runs."""
    from service.embedded.local import describe_guess
    from service.settings import read_settings

    if guess := describe_guess(read_settings()):
        begin = entry.redirect_url.partition("/auth-collections/")[0]
        typer.echo(
            f"{guess}, so redirect_url begins with {begin}; "
            "set BASE_URL to the address of the service before you register it",
            err=True,
        )


def _warn_of_page(project: "lookup.Project", name: str) -> None:
    """Warns if no page is set to which browsers return: then no list of sign-in methods has the provider."""
    from service.domain.sign_in.registration import completion_page
    from service.errors import ConfigurationMissing

    try:
        completion_page(project, name)
    except ConfigurationMissing:
        typer.echo(
            f"Browsers cannot sign in with {name} yet; "
            f"set the page to which they return: project set {project.id} IDP_COMPLETE_URL=https://...",
            err=True,
        )


def _described(entry: "ProviderEntry") -> dict[str, Any]:
    from service.domain.projects.providers import PROVIDER_SECRETS
    from service.domain.projects.settings import SECRET_SETTINGS

    secret = entry.settings.keys() & (PROVIDER_SECRETS | SECRET_SETTINGS)
    return {**_summary(entry), "settings": dict(entry.settings) | dict.fromkeys(secret, "********")}
