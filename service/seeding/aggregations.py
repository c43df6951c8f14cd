"""Saved aggregations of a manifest: what `PUT /api/aggregations/{name}` takes, by their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.aggregations.aggregations import Aggregations, check_definition
from service.domain.projects.lookup import Project
from service.errors import CollectionNotFound, ServiceError
from service.seeding.report import Report, find_changes
from service.seeding.rules import describe_error

KIND = "aggregations"


@dataclass(frozen=True, slots=True)
class AggregationsSeeder:
    """Saves the aggregations of a manifest."""

    aggregations: Aggregations
    report: Report

    async def seed(self, project: Project | None, wanted: Mapping[str, Mapping[str, Any]]) -> None:
        """Saves those that are not there, or differ; others of the project are left."""
        saved = await self.aggregations.list(project) if project is not None and wanted else []
        present = {each.name: each.body for each in saved}
        for name, definition in wanted.items():
            try:
                await self._seed_one(project, name, definition, present.get(name))
            except ServiceError as error:
                self.report.refuse(KIND, f"{KIND}.{name}", describe_error(error))

    async def _seed_one(
        self, project: Project | None, name: str, definition: Mapping[str, Any], before: Mapping[str, Any] | None
    ) -> None:
        after = {"parameters": {}, **definition}
        if before is not None and not find_changes(before, after) and before.keys() <= after.keys():
            self.report.unchanged(KIND)
            return
        await self._save(project, name, definition)
        if before is None:
            self.report.created(KIND, name)
        else:
            self.report.updated(KIND, name, before, find_changes(before, after))

    async def _save(self, project: Project | None, name: str, definition: Mapping[str, Any]) -> None:
        if project is None:
            check_definition(definition)
        elif not self.report.dry_run:
            await self.aggregations.save(SecretKeyCaller(project), name, definition)
        else:
            await self._try(project, definition)

    async def _try(self, project: Project, definition: Mapping[str, Any]) -> None:
        """A collection that a run would make is not there to be looked at."""
        check_definition(definition)
        try:
            await self.aggregations.check(SecretKeyCaller(project), definition)
        except CollectionNotFound:
            return
