"""Access rules in files: what `PUT /api/rules` takes, as YAML or JSON, and bringing a project's rules to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.domain.access.administration import RulesAdministration, fill_parts, find_saved
from service.domain.access.agreement import DeclaredShapes, check_rules, find_shapes
from service.domain.projects.lookup import Project
from service.errors import ConfigurationError, Invalid, RuleTestsFailed, ServiceError, Violation
from service.seeding.manifest import SeedManifest, read_manifest, read_yaml
from service.seeding.report import Report, find_changes
from service.seeding.sources import make_row

KIND = "rules"


def read_rules_file(path: Path) -> dict[str, Any]:
    """The rules of a manifest, or of a file with them alone, within the bounds of a body of the API.

    Raises ConfigurationError: '<file>: <what to change>'.
    """
    value = read_yaml(path)
    if not isinstance(value, dict) or "project" not in value:
        return _bounded(str(path), value)
    rules = read_manifest_rules(read_manifest(path), path.parent)
    if rules is None:
        raise ConfigurationError(f"{path}: rules: the manifest has none; add them, or name a file that has")
    return rules


def describe_violation(violation: Violation) -> str:
    """`collections.posts.update[0].after.status_eq: what to change`"""
    names = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in violation.loc[1:]]
    place = "".join(names).lstrip(".")
    return f"{place}: {violation.msg}" if place else violation.msg


def read_manifest_rules(manifest: SeedManifest, folder: Path) -> dict[str, Any] | None:
    """The rules of a manifest that lies in `folder`. Raises ConfigurationError."""
    if isinstance(manifest.rules, Path):
        path = folder / manifest.rules
        return _bounded(str(path), read_yaml(path))
    return None if manifest.rules is None else _bounded(KIND, manifest.rules)


@dataclass(frozen=True, slots=True)
class RulesSeeder:
    """Saves the rules of a manifest."""

    administration: RulesAdministration
    report: Report

    async def seed(self, project: Project | None, manifest: SeedManifest, wanted: Mapping[str, Any]) -> None:
        """Puts `wanted` in the place of the project's rules, unless they are the same."""
        nothing = fill_parts({})
        before = nothing if project is None else (await find_saved(project)).document
        changes = find_changes(before, fill_parts(wanted))
        if not changes:
            self.report.unchanged(KIND)
            return
        try:
            await self._replace(project, manifest, wanted)
        except ServiceError as error:
            self.report.refuse(KIND, KIND, describe_error(error))
            return
        if before == nothing:
            self.report.created(KIND, manifest.project.id)
        else:
            self.report.updated(KIND, manifest.project.id, {name: before[name] for name in changes}, changes)

    async def _replace(self, project: Project | None, manifest: SeedManifest, wanted: Mapping[str, Any]) -> None:
        if project is None or self.report.dry_run:
            await check_rules(wanted, await _coming_shapes(project, manifest))
        else:
            await self.administration.replace(
                project, wanted, if_match=None, dry_run=False, build_indexes=manifest.rule_indexes
            )


def _bounded(place: str, value: Any) -> dict[str, Any]:
    row = make_row(place, value)
    if row.fault:
        raise ConfigurationError(f"{place}: {row.fault}")
    return row.value


async def _coming_shapes(project: Project | None, manifest: SeedManifest) -> DeclaredShapes:
    """The collections as a run would leave them."""
    schemas = {name: part.declared for name, part in manifest.collections.items()}
    return DeclaredShapes(schemas) if project is None else await find_shapes(project.database, schemas)


def describe_error(error: ServiceError) -> str:
    """An error as one line."""
    if isinstance(error, RuleTestsFailed):
        first = error.failed[0]
        return f"{error.detail}: {first['name']} (expected {first['expected']}, got {first['got']})"
    if isinstance(error, Invalid):
        more = len(error.violations) - 1
        return describe_violation(error.violations[0]) + (f" (and {more} more)" if more else "")
    return error.detail
