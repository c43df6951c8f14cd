"""`auth-collections project verify`: a backup in a file is read to its end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_on_foundation

if TYPE_CHECKING:
    from service.cli.progress import Progressing
    from service.domain.portable.reading import BackupFile
    from service.foundation import Foundation


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    against: Annotated[
        str, typer.Option("--against", metavar="ID", help="Compare its records with those of a project, as it is now.")
    ] = "",
    deep: Annotated[
        bool, typer.Option("--deep", help="Judge each document by its definition, references and files as well.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read a backup to its end: its directory, digests, counts and maker. Status 1 where something is wrong or differs."""
    from service.cli.progress import show_progress

    with show_progress(as_json=as_json) as progress:
        found = run_on_foundation(lambda base: _verify(base, file, against, progress, is_deep=deep))
    if as_json:
        print_json(found)
    else:
        lines = [
            f"{found['documents']} documents and {found['files']} files of {found['taken_at']}: as they were written"
        ]
        lines += [f"warning: {warning}" for warning in found["warnings"]]
        lines += [f"{name} differs from the project's" for name in found["differing"]]
        lines += found["deep"]["findings"] if deep else []
        typer.echo("\n".join(lines))
    if found["differing"] or (deep and found["deep"]["damaged"]):
        raise typer.Exit(1)


async def _verify(
    base: "Foundation", file: Path, against: str, progress: "Progressing", *, is_deep: bool
) -> dict[str, Any]:
    from service.domain.portable import build_portable
    from service.domain.portable.reading import open_backup
    from service.domain.portable.verifying import check_content, check_maker, compare_with_project

    portable = build_portable(base)
    with open_backup(file) as opened:
        check_content(opened, progress.advance)
        check_maker(portable, opened)
        manifest = opened.manifest
        judged = {"deep": _judge_deeply(opened, progress)} if is_deep else {}
        differing = await compare_with_project(portable, manifest, against) if against else []
    return {
        "project_id": manifest.project_id,
        "taken_at": manifest.taken_at,
        "documents": manifest.documents,
        "files": manifest.files,
        "warnings": manifest.warnings,
        "differing": differing,
        **judged,
    }


def _judge_deeply(backup: "BackupFile", progress: "Progressing") -> dict[str, Any]:
    """The findings of `--deep`. `damaged` is false where there are but dangling references."""
    from service.domain.portable.deep_check import check_records

    found = check_records(backup, progress.advance)
    return {"damaged": found.is_damaged, **found.counts, "findings": found.sentences}
