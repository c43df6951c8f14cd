"""`auth-collections rules ...`: access rules kept in a file, beside the code that relies on them."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, list_differences, print_differences, print_json
from service.cli.runtime import run_command, run_on_foundation
from service.errors import Invalid, RuleTestsFailed, ServiceError, Violation

if TYPE_CHECKING:
    from service.domain.access.administration import RulesAdministration, RulesState
    from service.domain.projects.lookup import Project
    from service.foundation import Foundation
    from service.services import Services

T = TypeVar("T")
Work = Callable[["RulesAdministration", "Project"], Awaitable[T]]

rules_app = typer.Typer(
    help="Test, compare and save access rules.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)

ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="The rules as PUT /api/rules takes them, or a manifest with rules; YAML or JSON."
    ),
]


@rules_app.command("test")
def run_tests(project_id: ProjectId, file: File, as_json: AsJson = False) -> None:
    """Run the tests in FILE on the rules in it and the project's schemas, and save nothing. Status 1 where one fails."""
    document = _read(file)
    judged = _run(project_id, lambda rules, project: rules.test(project, document), as_json=as_json)
    failed = [test for test in judged if test["got"] != test["expected"]]
    if as_json:
        print_json(judged)
    else:
        typer.echo("\n".join([*map(_describe_test, judged), f"{len(judged)} tests, {len(failed)} failed"]))
    if failed:
        raise typer.Exit(1)


@rules_app.command()
def diff(project_id: ProjectId, file: File, as_json: AsJson = False) -> None:
    """Show the changes that `push` would make. Status 0 without any, 1 with some, 2 if the comparison fails."""

    async def read(base: "Foundation") -> "RulesState":
        from service.domain.access.administration import find_saved

        return await find_saved(await base.admin.find(project_id))

    try:
        document = _read(file)
        saved = run_on_foundation(read)
    except ServiceError as error:
        raise TyperException(error.detail) from None
    print_differences(_differences(saved.document, document, project_id, file), as_json=as_json)


@rules_app.command()
def push(
    project_id: ProjectId,
    file: File,
    indexes: Annotated[bool, typer.Option("--indexes", help="Build the indexes that are advised.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would come of it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Save the rules in FILE in the place of all rules of the project, if its tests pass."""
    from service.domain.access.administration import find_saved

    document = _read(file)

    async def save(rules: "RulesAdministration", project: "Project") -> "tuple[bool, RulesState]":
        before = await find_saved(project)
        changed = bool(_differences(before.document, document, project_id, file))
        only_looks = dry_run or not (changed or indexes)
        return changed, await rules.replace(project, document, if_match=None, dry_run=only_looks, build_indexes=indexes)

    changed, saved = _run(project_id, save, as_json=as_json)
    if as_json:
        print_json(_outcome(saved, changed=changed, dry_run=dry_run))
    else:
        typer.echo("\n".join(_describe_outcome(saved, changed=changed, dry_run=dry_run, built=indexes)))


def _read(file: Path) -> dict[str, Any]:
    from service.seeding.rules import read_rules_file

    return read_rules_file(file)


def _describe_violation(violation: Violation) -> str:
    from service.seeding.rules import describe_violation

    return describe_violation(violation)


def _run(project_id: str, work: Work[T], *, as_json: bool) -> T:
    """The result of `work` on the project. Refused rules are listed, and end the command with status 1."""

    async def on_project(services: "Services") -> T:
        return await work(services.rules, await services.base.admin.find(project_id))

    try:
        return run_command(on_project)
    except Invalid as error:
        _print_refusal(
            "errors",
            [each.as_dict() for each in error.violations],
            map(_describe_violation, error.violations),
            as_json=as_json,
        )
    except RuleTestsFailed as error:
        _print_refusal("failed", error.failed, map(_describe_test, error.failed), as_json=as_json)
    raise typer.Exit(1)


def _print_refusal(name: str, values: list[Any], lines: Iterator[str], *, as_json: bool) -> None:
    if as_json:
        print_json({name: values})
    else:
        typer.echo("\n".join([*(f"! {line}" for line in lines), "Nothing was changed."]))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any], project_id: str, file: Path) -> list[str]:
    from service.domain.access.administration import fill_parts

    return list_differences(fill_parts(before), fill_parts(after), project_id, file)


def _describe_test(test: Mapping[str, str]) -> str:
    if test["got"] == test["expected"]:
        return f"ok     {test['name']}: {test['got']}"
    return f"FAILED {test['name']}: expected {test['expected']}, got {test['got']}"


def _outcome(saved: "RulesState", *, changed: bool, dry_run: bool) -> dict[str, Any]:
    return {
        "changed": changed,
        "saved": changed and not dry_run,
        "advice": [
            {"collection": each.collection, "index": list(each.fields), "because": each.because}
            for each in saved.advice
        ],
        "warnings": [each.as_dict() for each in saved.warnings],
    }


def _describe_outcome(saved: "RulesState", *, changed: bool, dry_run: bool, built: bool) -> Iterator[str]:
    for warning in saved.warnings:
        yield f"warning: {_describe_violation(warning)}"
    for advice in saved.advice:
        index = f"{advice.collection}: an index on {', '.join(advice.fields)}, since {advice.because}"
        yield f"built: {index}" if built and not dry_run else f"advice: {index} (--indexes builds it)"
    if dry_run:
        yield f"Dry run: the rules would {'be saved' if changed else 'stay as they are'}; nothing was changed."
    else:
        yield (
            "The rules are saved; servers follow within five seconds." if changed else "The rules are in force already."
        )
