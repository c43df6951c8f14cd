"""Saving and reading a project's rules, with the tests and the advice that go with them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.access.advice import Advice, advise_indexes, lint
from service.domain.access.control import AccessControl, declared_shapes
from service.domain.access.declared import DeclaredShapes
from service.domain.access.explain import Explanation, Question, explain
from service.domain.access.ruleset import KEYS, Rules, read_rules
from service.domain.access.verdicts import failed_tests
from service.domain.projects.lookup import Project
from service.errors import RuleTestsFailed, VersionConflict, Violation
from service.schema.fields import Fields
from service.storage.collections import CollectionStore
from service.storage.rules import StoredRules, find_rules, save_rules


@dataclass(frozen=True, slots=True)
class SavedRules:
    """The rules as they are now, or would be after a dry run."""

    document: Mapping[str, Any]
    etag: str
    advice: tuple[Advice, ...] = ()
    warnings: tuple[Violation, ...] = ()


class RulesAdministration:
    """What the secret key may do with the rules of its project."""

    def __init__(self, control: AccessControl) -> None:
        self._control = control

    async def read(self, project: Project) -> SavedRules:
        stored = await find_rules(project.database)
        return SavedRules(_whole(json.loads(stored.text)), _etag(stored))

    async def replace(
        self, project: Project, document: Mapping[str, Any], *, if_match: str | None, dry_run: bool, build_indexes: bool
    ) -> SavedRules:
        """Puts `document` in the place of all rules there were; a dry run only says what would come of it.

        Raises Invalid, RuleTestsFailed, VersionConflict where `if_match` names another state, SchemaChanging.
        """
        stored = await find_rules(project.database)
        if if_match is not None and not _names(if_match, _etag(stored)):
            raise VersionConflict(_etag(stored))
        shapes = await declared_shapes(project)
        rules, fields = check_rules(document, shapes)
        advice, warnings = tuple(advise_indexes(rules, fields)), tuple(lint(rules, fields))
        if not dry_run:
            stored = await self._save(project, document, stored, rules, if_match=if_match)
            if build_indexes:
                await _build(project, advice)
        return SavedRules(_whole(document), _etag(stored), advice, warnings)

    async def explain(self, project: Project, question: Question) -> Explanation:
        """As `explain.explain`."""
        return await explain(project, self._control, question)

    async def _save(
        self, project: Project, document: Mapping[str, Any], over: StoredRules, rules: Rules, *, if_match: str | None
    ) -> StoredRules:
        text, named = json.dumps(document, ensure_ascii=False), list(rules.collections)
        saved = await save_rules(project.database, text, over=over.version, collections=named)
        while saved is None:
            over = await find_rules(project.database)
            if if_match is not None:
                raise VersionConflict(_etag(over))
            saved = await save_rules(project.database, text, over=over.version, collections=named)
        await self._control.refresh(project)
        return saved


def check_rules(document: Mapping[str, Any], shapes: DeclaredShapes) -> tuple[Rules, dict[str, Fields]]:
    """The rules, and the fields of the collections that they name. Raises Invalid, RuleTestsFailed."""
    rules = read_rules(document, shapes, shapes.targets)
    fields = {name: shapes.fields(name) for name in rules.collections}
    if failed := failed_tests(rules, fields):
        raise RuleTestsFailed(failed)
    return rules, fields


async def _build(project: Project, advice: tuple[Advice, ...]) -> None:
    store = CollectionStore(project.database)
    for each in advice:
        await store.add_rule_index(each.collection, each.fields)


def _whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """All five parts, also those that were not sent."""
    empty: dict[str, Any] = {name: [] if name == "tests" else {} for name in KEYS}
    return empty | dict(document)


def _etag(stored: StoredRules) -> str:
    return f'"{stored.version}"'


def _names(if_match: str, etag: str) -> bool:
    """RFC 9110 section 13.1.1, by the strong comparison."""
    return if_match.strip() == "*" or etag in (part.strip() for part in if_match.split(","))
