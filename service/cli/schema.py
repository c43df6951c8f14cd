"""`auth-collections schema ...`: schemas kept in a file, beside the code that relies on them.

`diff` and `push` are about collections, `show` and `set` about the profiles of users.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, list_differences, print_differences, print_json
from service.cli.runtime import run_command, run_on_foundation
from service.errors import Invalid, SchemaConflict, ServiceError

if TYPE_CHECKING:
    from service.domain.collections.catalog import Catalogs
    from service.domain.profiles.definition import DeclaredProfile
    from service.domain.projects.lookup import Project
    from service.foundation import Foundation
    from service.seeding.manifest import ProfilePart, SchemaPart
    from service.seeding.schemas import Declared, SchemaSeeder
    from service.services import Services

schema_app = typer.Typer(
    help="Compare and save schemas of collections and of profiles.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A manifest, or a file with its `collections` alone; YAML or JSON.")
]


@dataclass(slots=True)
class Outcome:
    """One collection of the file: the change that it needs, and the documents that this repairs, or why it is refused."""

    declared: "Declared"
    repairs: int = 0
    error: ServiceError | None = None
    is_done: bool = False

    @property
    def change(self) -> str:
        if self.declared.is_same:
            return "none"
        return "create" if self.declared.collection is None else "update"


@schema_app.command()
def diff(project_id: ProjectId, file: File, as_json: AsJson = False) -> None:
    """Show the changes that `push` would make. Status 0 without any, 1 with some, 2 if the comparison fails."""
    from service.seeding.manifest import read_schema_file

    async def find(base: "Foundation") -> "list[Declared]":
        from service.domain.collections.catalog import Catalogs

        return await _find_all(Catalogs(), await base.admin.find(project_id), parts)

    try:
        parts = read_schema_file(file)
        found = run_on_foundation(find)
    except ServiceError as error:
        raise TyperException(error.detail) from None
    before = {each.name: each.before for each in found if each.collection is not None}
    after = {each.name: each.after for each in found}
    print_differences(list_differences(before, after, project_id, file), as_json=as_json)


@schema_app.command()
def push(
    project_id: ProjectId,
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would come of it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make and change the collections in FILE, if no document breaks their schemas. Other collections stay as they are."""
    from service.seeding.manifest import read_schema_file

    parts = read_schema_file(file)
    outcomes = run_command(lambda services: _push(services, project_id, parts, dry_run=dry_run))
    if as_json:
        print_json(_as_json(outcomes))
    else:
        typer.echo("\n".join(_describe(outcomes, dry_run=dry_run)))
    if any(each.error for each in outcomes):
        raise typer.Exit(1)


@schema_app.command()
def show(project_id: ProjectId, as_json: AsJson = False) -> None:
    """Show the schema of profiles, as `set` takes it; `--json` adds the time of its last change."""

    async def read(services: "Services") -> "DeclaredProfile":
        return await services.accounts.profiles.refresh(await services.base.admin.find(project_id))

    print_json(_show_profile(run_command(read), timed=as_json))


@schema_app.command("set")
def set_profile(
    project_id: ProjectId,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A manifest with `profile`, or its `schema` and `additional`; else standard input."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would come of it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replace the schema of profiles, if no user breaks the new one. Absent defaults are filled in."""
    from service.seeding.manifest import read_profile_file

    part = read_profile_file(file or Path("/dev/stdin"))
    try:
        found = run_command(lambda services: _set_profile(services, project_id, part, dry_run=dry_run))
    except (Invalid, SchemaConflict) as error:
        _print_refusal(error, as_json=as_json)
        raise typer.Exit(1) from None
    if as_json:
        print_json(found)
    else:
        repaired = f", {found['repairs']:,} users {'to repair' if dry_run else 'repaired'}" if found["repairs"] else ""
        done = "Dry run: nothing was changed" if dry_run else "The schema is saved; servers follow within five seconds"
        typer.echo(f"{done}{repaired}.")


async def _set_profile(services: "Services", project_id: str, part: "ProfilePart", *, dry_run: bool) -> dict[str, Any]:
    from service.domain.profiles.changes import WantedProfile, preview_profile, replace_profile

    project = await services.base.admin.find(project_id)
    wanted = WantedProfile(part.declared, part.additional)
    findings = await preview_profile(services.accounts.profiles, project, wanted)
    if findings.error:
        raise findings.error
    saved = (
        {} if dry_run else _show_profile(await replace_profile(services.accounts.profiles, project, wanted), timed=True)
    )
    return {"saved": not dry_run, "repairs": findings.repairs, **saved}


def _show_profile(profile: "DeclaredProfile", *, timed: bool) -> dict[str, Any]:
    from service.schema.values import write_time
    from service.seeding.profiles import describe_profile

    updated = write_time(profile.updated_at) if profile.updated_at else None
    return {**describe_profile(profile), **({"updated_at": updated} if timed else {})}


def _print_refusal(error: ServiceError, *, as_json: bool) -> None:
    from service.seeding.schemas import explain

    if as_json:
        print_json({"saved": False, "error": _error(error)})
    else:
        typer.echo("\n".join([*(f"! {line}" for line in explain(error)), "Nothing was changed."]))


async def _find_all(catalogs: "Catalogs", project: "Project", parts: "Mapping[str, SchemaPart]") -> "list[Declared]":
    from service.seeding.schemas import find_declared

    return [await find_declared(catalogs, project, name, part) for name, part in parts.items()]


async def _push(
    services: "Services", project_id: str, parts: "Mapping[str, SchemaPart]", *, dry_run: bool
) -> list[Outcome]:
    """All collections are looked at before the first is changed, so that nothing is changed where one is refused."""
    project, seeder = await services.base.admin.find(project_id), _seeder(services)
    outcomes = [Outcome(declared) for declared in await _find_all(services.collections.catalogs, project, parts)]
    for number, outcome in enumerate(outcomes):
        await _preview(seeder, project, outcome, coming=list(parts)[:number])
    if dry_run or any(outcome.error for outcome in outcomes):
        return outcomes
    for outcome in outcomes:
        try:
            await seeder.bring(project, outcome.declared)
        except ServiceError as error:
            outcome.error = error
            return outcomes
        outcome.is_done = outcome.change != "none"
    return outcomes


async def _preview(seeder: "SchemaSeeder", project: "Project", outcome: Outcome, coming: list[str]) -> None:
    if outcome.change == "none":
        return
    try:
        findings = await seeder.preview(project, outcome.declared, coming)
    except ServiceError as error:
        outcome.error = error
    else:
        outcome.repairs = findings.repairs
        outcome.error = findings.error


def _seeder(services: "Services") -> "SchemaSeeder":
    from service.seeding.report import Report
    from service.seeding.schemas import SchemaSeeder

    return SchemaSeeder(services.collections, Report(), migrate=True)


def _as_json(outcomes: list[Outcome]) -> dict[str, Any]:
    return {
        "changed": any(each.change != "none" for each in outcomes),
        "saved": any(each.is_done for each in outcomes),
        "collections": [
            {"name": each.declared.name, "change": each.change, "repairs": each.repairs, "error": _error(each.error)}
            for each in outcomes
        ],
    }


def _error(error: ServiceError | None) -> dict[str, Any] | None:
    """The collection as the API answers it."""
    if isinstance(error, Invalid):
        return {"detail": [each.as_dict() for each in error.violations], "code": error.code}
    return error.body() if error else None


def _describe(outcomes: list[Outcome], *, dry_run: bool) -> Iterator[str]:
    from service.seeding.schemas import explain

    for each in outcomes:
        if each.error:
            yield from (f"! {each.declared.name}: {line}" for line in explain(each.error))
        elif each.change != "none":
            repaired = f", {each.repairs:,} documents to repair" if each.repairs else ""
            yield f"{each.declared.name}: {each.change}{repaired}"
    is_done, changed = any(each.is_done for each in outcomes), any(each.change != "none" for each in outcomes)
    if any(each.error for each in outcomes):
        yield "The collections before the refused one are changed." if is_done else "Nothing was changed."
    elif dry_run:
        yield f"Dry run: the schemas would {'be saved' if changed else 'stay as they are'}; nothing was changed."
    else:
        yield (
            "The schemas are saved; servers follow within five seconds."
            if is_done
            else "The schemas are in force already."
        )
