"""Reads the settings of commands, and prints their results: lines for people, JSON for scripts."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from service.errors import ConfigurationError

if TYPE_CHECKING:
    from service.domain.projects.keys import ProjectKeys
    from service.schema.outcomes import Trial

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_values(values: Mapping[str, Any], *, as_json: bool) -> None:
    """One line for each value."""
    if as_json:
        print_json(values)
        return
    lines = (f"{name}: {value if isinstance(value, str) else _json(value)}" for name, value in values.items())
    typer.echo("\n".join(lines))


def list_exports(base_url: str, keys: "ProjectKeys") -> list[str]:
    """The lines for a terminal that the pages of the documentation go on from."""
    return [f"export URL={base_url}", f"export API_KEY={keys.secret}", f"export PUBLISHABLE_KEY={keys.publishable}"]


def print_json(value: Any) -> None:
    typer.echo(_json(value))


def print_trial(trial: "Trial", *, as_json: bool) -> None:
    """Prints the steps, and ends the command with status 1 where one failed."""
    if as_json:
        print_json({"ok": trial.ok, "steps": [asdict(step) for step in trial.steps], "reply": trial.reply})
    else:
        lines = [f"{step.step}: {'ok' if step.ok else 'failed'}" for step in trial.steps]
        details = [f" ({step.detail})" if step.detail else "" for step in trial.steps]
        typer.echo("\n".join(map("".join, zip(lines, details, strict=True))))
        if trial.reply:
            typer.echo(f"the server said: {trial.reply}")
    if not trial.ok:
        raise typer.Exit(1)


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def list_differences(before: Any, after: Any, project_id: str, file: Path) -> list[str]:
    """A unified diff of both as sorted JSON, for the order of names has no meaning in them."""
    one, other = (
        json.dumps(each, indent=2, sort_keys=True, ensure_ascii=False).splitlines() for each in (before, after)
    )
    return list(difflib.unified_diff(one, other, f"{project_id} (in force)", str(file), lineterm=""))


def print_differences(lines: list[str], *, as_json: bool) -> None:
    """Prints a diff, and ends the command with status 1 where there is one."""
    if as_json:
        print_json({"changed": bool(lines), "diff": lines})
    elif lines:
        typer.echo("\n".join(lines))
    if lines:
        raise typer.Exit(1)


def read_pairs(texts: Sequence[str]) -> dict[str, str]:
    """The values of KEY=VALUE arguments by their keys. Raises ConfigurationError."""
    pairs = [text.partition("=") for text in texts]
    if bad := next((name for name, equals, _ in pairs if not equals), None):
        raise ConfigurationError(f"{bad}: expected KEY=VALUE")
    return {name: value for name, _, value in pairs}
