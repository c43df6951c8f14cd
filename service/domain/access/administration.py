"""Saving and reading a project's rules, with the tests and the advice that go with them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.bounds import MAX_INDEXES, MAX_PROJECT_INDEXES
from service.domain.access.agreement import CheckedRules, bind_rules, check_rules, find_shapes, replace_rules
from service.domain.access.control import AccessControl
from service.domain.access.explain import ExplainedDecision, Question, explain
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import NO_CHANGES, compare
from service.domain.limits.limiter import Limits
from service.domain.limits.made_files import count_indexes
from service.domain.projects.lookup import Project
from service.domain.steps import run_in_steps
from service.errors import CollectionIndexLimit, IndexLimit, VersionConflict, Violation
from service.rules.advice import Advice, advise_indexes, lint, warn_of_emails
from service.rules.document import KEYS
from service.rules.ruleset import USERS
from service.rules.stored_tests import judge_tests
from service.schema.versions import is_tag_named
from service.storage.collections import CollectionStore, mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions
from service.storage.images import keep_images
from service.storage.rules import StoredRules, find_rules
from service.storage.wanted_images import wants_images


@dataclass(frozen=True, slots=True)
class RulesState:
    """The rules as they are now, or would be after a dry run."""

    document: Mapping[str, Any]
    etag: str
    advice: tuple[Advice, ...] = ()
    warnings: tuple[Violation, ...] = ()


async def find_saved(project: Project) -> RulesState:
    """The rules in force, as the last PUT brought them."""
    stored = await find_rules(project.database)
    return RulesState(fill_parts(json.loads(stored.text)), _etag(stored))


@dataclass(frozen=True, slots=True)
class RulesAdministration:
    """Operations of the secret key on the rules of its project."""

    access: AccessControl
    limits: Limits
    audit: Audit

    async def replace(
        self, project: Project, document: Mapping[str, Any], *, if_match: str | None, dry_run: bool, build_indexes: bool
    ) -> RulesState:
        """Puts `document` in the place of all rules there were; a dry run only says what would come of it.

        Raises Invalid, RuleTestsFailed, VersionConflict where `if_match` names another state; where indexes are to be built,
        IndexLimit and LimitExceeded.
        """

        def allow(stored: StoredRules) -> None:
            if not is_tag_named(if_match, _etag(stored)):
                raise VersionConflict(_etag(stored))

        if dry_run:
            allow(stored := await find_rules(project.database))
            return await _saved(
                project, document, stored, await check_rules(document, await find_shapes(project.database))
            )
        if build_indexes:
            await self._check_indexes(project, document)
        replaced = await replace_rules(project.database, document, allow, partial(self._note, project, document))
        await self.access.refresh(project)
        saved = await _saved(project, document, replaced.after, replaced.checked)
        await _drop_indexes(project, {*_named(replaced.before), *replaced.checked.rules.collections}, saved.advice)
        await _keep_images(project, replaced.before.sources, replaced.after.sources)
        if build_indexes:
            await _build_indexes(project, saved.advice)
        return saved

    async def _note(
        self, project: Project, document: Mapping[str, Any], bound: ProjectDatabase, before: StoredRules
    ) -> None:
        if (changes := compare(json.loads(before.text), document)) != NO_CHANGES:
            act = Act(Action.RULES_CHANGED, Target("rules", project.id), project.id, changes)
            await self.audit.record(bound.session, act)

    async def _check_indexes(self, project: Project, document: Mapping[str, Any]) -> None:
        """Before anything is saved. Raises Invalid, RuleTestsFailed, IndexLimit, LimitExceeded."""
        checked = await check_rules(document, await find_shapes(project.database))
        advised = Counter(each.collection for each in advise_indexes(checked.rules, checked.indexes, checked.fields))
        asked = Counter(await Definitions(project.database).count_indexes()) + advised
        if asked.total() > MAX_PROJECT_INDEXES:
            raise IndexLimit(asked.total(), MAX_PROJECT_INDEXES)
        if any(asked[name] > MAX_INDEXES for name in advised):
            raise CollectionIndexLimit(MAX_INDEXES)
        await count_indexes(self.limits, project, advised.total())

    async def test(self, project: Project, document: Mapping[str, Any]) -> list[dict[str, str]]:
        """The verdict on each test of rules that need not be in force: [{"name", "expected", "got"}]. Raises Invalid."""
        checked = await bind_rules(document, await find_shapes(project.database))
        return await run_in_steps(project.database, judge_tests(checked.rules, checked.fields))

    async def explain(self, project: Project, question: Question) -> ExplainedDecision:
        """As `explain.explain`."""
        return await explain(project, self.access, question)


async def _saved(
    project: Project, document: Mapping[str, Any], stored: StoredRules, checked: CheckedRules
) -> RulesState:
    advice = advise_indexes(checked.rules, checked.indexes, checked.fields)
    warnings = await run_in_steps(project.database, lint(checked.rules, checked.fields, checked.indexes))
    if project.settings.email_verification != "required":
        warnings += warn_of_emails(checked.rules)
    return RulesState(fill_parts(document), _etag(stored), tuple(advice), tuple(warnings))


def _named(stored: StoredRules) -> Iterable[str]:
    """The collections that have rules of their own."""
    return list(json.loads(stored.text).get("collections", ()))


async def _drop_indexes(project: Project, collections: Iterable[str], advice: Sequence[Advice]) -> None:
    """Drops the indexes of rules that are no longer in force."""
    store = CollectionStore(project.database)
    for name in sorted(collections):
        await store.drop_rule_indexes(name, kept=[each.fields for each in advice if each.collection == name])


async def _keep_images(project: Project, before: frozenset[str], after: frozenset[str]) -> None:
    """So that a change of what a set is taken from tells whom it concerns: a deletion, who loses what it gave.

    Users keep images only where they are live themselves: theirs hold the hashes of passwords.
    """
    for name in sorted(after - {USERS}):
        await keep_images(project.database, mongo_collection_name(name), enabled=True)
    if gone := before - after - {USERS}:
        for record in await Definitions(project.database).list():
            if record["_id"] in gone and not await wants_images(project.database, record):
                await keep_images(project.database, mongo_collection_name(record["_id"]), enabled=False)


async def _build_indexes(project: Project, advice: Sequence[Advice]) -> None:
    store = CollectionStore(project.database)
    for each in advice:
        await store.add_rule_index(each.collection, each.fields)


def fill_parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """All five parts, also those that were not sent."""
    empty: dict[str, Any] = {name: [] if name == "tests" else {} for name in KEYS}
    return empty | dict(document)


def _etag(stored: StoredRules) -> str:
    return f'"{stored.version}"'
