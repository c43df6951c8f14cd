"""Replacing the schema of profiles: all users conform afterwards, or nothing has changed.

The steps are those of a collection's schema (`domain/collections/schema_changes`). The validator during the change lets
the defaults of the new schema be absent: users who lack them can sign in while they are filled in.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import NO_CHANGES, compare
from service.domain.collections.conflicts import Examination, Findings
from service.domain.collections.reconcile import reconcile
from service.domain.collections.validation import check_fields
from service.domain.profiles.definition import DeclaredProfile, make_profile, read_profile
from service.domain.profiles.profiles import Profiles
from service.domain.projects.lookup import Project
from service.errors import SchemaChanging
from service.schema.fields import USERS
from service.schema.json_schema import both, profile_validator
from service.schema.profiles import parse_profile
from service.storage.client import Document, within
from service.storage.collections import CollectionStore
from service.storage.databases import ProjectDatabase
from service.storage.definitions import CHANGE_SECONDS, Definitions
from service.storage.layout import PROFILE

BUSY = "Another change of this schema is under way; try again"
# Raises an error where the profile in force is not the one that a change expects.
Allow = Callable[[DeclaredProfile], None]


@dataclass(frozen=True, slots=True)
class WantedProfile:
    """The declaration that is to take the place of the one in force."""

    schema: dict[str, Any]
    additional: bool = True


def allow_any(_profile: DeclaredProfile) -> None:
    """Lets any profile be replaced."""


async def preview_profile(
    profiles: Profiles, project: Project, wanted: WantedProfile, allow: Allow = allow_any
) -> Findings:
    """The users that `replace_profile` would repair, and those that would break the schema. Raises Invalid."""
    with within(CHANGE_SECONDS):
        return await (await _prepare(profiles, project, wanted, allow)).run()


async def check_profile_schema(profiles: Profiles, project: Project, wanted: WantedProfile) -> None:
    """Raises Invalid for a schema that cannot be declared."""
    fields = parse_profile(wanted.schema, additional=wanted.additional)
    await check_fields(project, fields, profiles.judge)


async def replace_profile(
    profiles: Profiles, project: Project, wanted: WantedProfile, allow: Allow = allow_any
) -> DeclaredProfile:
    """Puts the declaration in the place of the one in force, and fills in defaults that users lack.

    Raises SchemaConflict if users break the new schema, SchemaChanging, Invalid, and what `allow` raises.
    """
    with within(CHANGE_SECONDS):
        _refuse_conflicts(await (await _prepare(profiles, project, wanted, allow)).run())
        definitions = Definitions(project.database, PROFILE)
        # Readers of the project find the record from here on, so that one completes the change if this process dies.
        await definitions.ensure(USERS)
        record = await definitions.begin(USERS, "change")
        if record is None:
            raise SchemaChanging(BUSY)
        try:
            allow(read_profile(record))
            record = await _switch(profiles, project, record, wanted)
        finally:
            await reconcile(project.database, record)
    if project.has_profile is False:
        profiles.projects.forget_all()
    return await profiles.refresh(project)


async def _prepare(profiles: Profiles, project: Project, wanted: WantedProfile, allow: Allow) -> Examination:
    present = await profiles.refresh(project)
    allow(present)
    await check_profile_schema(profiles, project, wanted)
    return _examine(profiles, project, present, wanted)


def _examine(profiles: Profiles, project: Project, present: DeclaredProfile, wanted: WantedProfile) -> Examination:
    coming = make_profile(wanted.schema, additional=wanted.additional)
    return Examination(project, present, coming.fields, coming.validator, profiles.judge)


async def _switch(profiles: Profiles, project: Project, record: Document, wanted: WantedProfile) -> Document:
    """The leased record with the new declaration. Raises SchemaConflict with the old one still stored."""
    examination = _examine(profiles, project, read_profile(record), wanted)
    coming = profile_validator(examination.fields, additional=wanted.additional, complete=False)
    present = examination.collection.validator
    if examination.validator != present:
        await CollectionStore(project.database).set_validator(USERS, both(present, coming))
    _refuse_conflicts(await examination.run())

    async def commit(bound: ProjectDatabase) -> Document:
        definitions = Definitions(bound, PROFILE)
        committed = await definitions.commit(record, wanted.schema, additional=wanted.additional)
        if committed is None:
            raise SchemaChanging(BUSY)
        await _note(profiles, replace(project, database=bound), record, committed)
        return committed

    return await project.database.in_transaction(commit)


async def _note(profiles: Profiles, project: Project, before: Document, after: Document) -> None:
    changes = compare(_describe(before), _describe(after))
    if changes != NO_CHANGES:
        act = Act(Action.PROFILE_CHANGED, Target("profile", project.id), project.id, changes)
        await profiles.audit.record(project.database.session, act)


def _describe(record: Document) -> Document:
    """The declaration as audit entries show it."""
    return {"schema": record["schema"], "additional": record.get("additional", True)}


def _refuse_conflicts(findings: Findings) -> None:
    if findings.error:
        raise findings.error
