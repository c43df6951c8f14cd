"""`auth-collections project backup`, `restore`, `clone`: a project as one file, and as a copy."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, print_values
from service.cli.runtime import run_on_foundation
from service.errors import ConfigurationError

if TYPE_CHECKING:
    from service.cli.progress import Progressing
    from service.domain.portable.restoring import Choices, Restored
    from service.domain.portable.taking import Taken, Wanted
    from service.foundation import Foundation

STDOUT = "-"
WithSecrets = Annotated[
    bool, typer.Option("--with-secrets", help="Give a copy the secrets of providers and CAPTCHAs as well.")
]
ProjectId = Annotated[str, typer.Argument(metavar="ID", help="The project's id.")]


class _Stdout:
    """A sink that cannot be emptied: a backup to it has one attempt."""

    def write(self, data: bytes, /) -> None:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except OSError as error:
            raise ConfigurationError(f"stdout: {error.strerror}") from None


def backup(
    project_id: ProjectId,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="The file to write; `-` is stdout; <id>-<time>.zip by default."),
    ] = None,
    without: Annotated[
        str, typer.Option("--without", metavar="PARTS", help="Leave out some of events,sessions,files.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Write one project into one file, as it is at one moment, while the service runs."""
    from service.cli.progress import show_progress
    from service.domain.portable.taking import Wanted

    parts = read_parts(without)
    if file == STDOUT:
        with show_progress(as_json=False) as progress:
            run_on_foundation(lambda base: _write_out(base, Wanted(project_id, parts, attempts=1), progress))
        return
    path = Path(file or f"{project_id}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
    with show_progress(as_json=as_json) as progress:
        taken = run_on_foundation(lambda base: _write_file(base, Wanted(project_id, parts), path, progress))
    print_values({"path": str(path), **_describe(taken)}, as_json=as_json)


def read_parts(text: str) -> frozenset[str]:
    from service.domain.portable.taking import LEAVABLE

    parts = frozenset(text.split(",")) if text else frozenset[str]()
    if unknown := sorted(parts - LEAVABLE.keys()):
        raise TyperException(f"--without {unknown[0]}: expected some of {','.join(LEAVABLE)}")
    return parts


async def _write_out(base: "Foundation", wanted: "Wanted", progress: "Progressing") -> None:
    from service.domain.portable import build_portable
    from service.domain.portable.taking import note_backup, take_backup

    portable = build_portable(base)
    await note_backup(portable, await take_backup(portable, wanted, _Stdout, progress.advance))


async def _write_file(base: "Foundation", wanted: "Wanted", path: Path, progress: "Progressing") -> "Taken":
    """The entry comes first: there is no backup under its name without one."""
    from service.domain.portable import build_portable
    from service.domain.portable.taking import note_backup, take_backup
    from service.domain.portable.targets import FileTarget

    portable = build_portable(base)
    with FileTarget(path) as target:
        taken = await take_backup(portable, wanted, target.begin, progress.advance)
        await note_backup(portable, taken)
        target.publish()
    return taken


def _describe(taken: "Taken") -> dict[str, Any]:
    manifest = taken.manifest
    return {
        "project_id": manifest.project_id,
        "bytes": taken.bytes,
        "sha256": taken.sha256,
        "documents": manifest.documents,
        "files": manifest.files,
        "consistency": manifest.consistency,
        "warnings": manifest.warnings,
    }


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    project_id: Annotated[
        str,
        typer.Option("--as", metavar="ID", help="The id that the project had, or that of a copy; it must be free."),
    ],
    accepts_foreign: Annotated[
        bool, typer.Option("--accept-foreign", help="Take a backup that was made with another SECRET_KEY.")
    ] = False,
    with_keys: Annotated[bool, typer.Option("--with-keys", help="Take the API keys of such a backup, too.")] = False,
    skips_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out documents that break their own definition.")
    ] = False,
    with_secrets: WithSecrets = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and judge the backup; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a project back under the id that it had, or a copy under another. Status 3 where documents were left out."""
    from service.cli.progress import show_progress
    from service.domain.portable.restoring import Choices

    choices = Choices(accepts_foreign, with_keys, skips_invalid, dry_run, with_secrets)
    with show_progress(as_json=as_json) as progress:
        restored = run_on_foundation(
            lambda base: _restore(base, file, project_id, choices, progress), may_begin=not dry_run
        )
    _print_restored(restored, as_json=as_json)


def _print_restored(restored: "Restored", *, as_json: bool) -> None:
    """Prints the keys of a copy as well, once."""
    shown = {name: getattr(restored, name) for name in ("project_id", "needs", "left_out", "rejected")}
    if restored.new_keys is not None:
        shown |= {"api_key": restored.new_keys.secret, "publishable_key": restored.new_keys.publishable}
    print_outcome(shown, as_json=as_json)


def print_outcome(shown: Mapping[str, Any], *, as_json: bool) -> None:
    """Prints the result of a restore. Ends the command with status 3 where documents were left out."""
    print_values(shown, as_json=as_json)
    if shown["rejected"]:
        raise typer.Exit(3)


async def _restore(
    base: "Foundation", file: Path, project_id: str, choices: "Choices", progress: "Progressing"
) -> "Restored":
    from service.domain.portable import build_portable
    from service.domain.portable.reading import open_backup
    from service.domain.portable.restoring import restore_project

    with open_backup(file) as opened:
        return await restore_project(build_portable(base), opened, project_id, choices, progress.advance)


def clone(
    project_id: ProjectId,
    target_id: Annotated[str, typer.Option("--as", metavar="NEW", help="The id of the copy; it must be free.")],
    is_empty: Annotated[bool, typer.Option("--empty", help="Copy schemas, rules and settings only.")] = False,
    with_secrets: WithSecrets = False,
    as_json: AsJson = False,
) -> None:
    """Copy a project, as it is at one moment, and print the API keys of the copy, once. The copy sends no mail."""
    from service.cli.progress import show_progress

    with show_progress(as_json=as_json) as progress:
        restored = run_on_foundation(
            lambda base: _clone(base, project_id, target_id, progress, is_empty=is_empty, with_secrets=with_secrets)
        )
    _print_restored(restored, as_json=as_json)


async def _clone(
    base: "Foundation",
    project_id: str,
    target_id: str,
    progress: "Progressing",
    *,
    is_empty: bool,
    with_secrets: bool,
) -> "Restored":
    from service.domain.portable import build_portable
    from service.domain.portable.cloning import clone_project
    from service.domain.portable.restoring import Choices
    from service.domain.portable.taking import Wanted

    wanted, choices = Wanted(project_id, is_empty=is_empty), Choices(with_secrets=with_secrets)
    return await clone_project(build_portable(base), wanted, target_id, choices, progress.advance)
