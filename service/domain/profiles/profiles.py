"""The profiles of all projects as requests see them, and the judgement of a user's `data` by them.

A worker remembers a declared profile for five seconds. An old one can do little harm: the validator in the database judges
every write, and a refused write is judged once more by the newest.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from service.bounds import MAX_KNOWN_COLLECTIONS
from service.domain.audit.audit import Audit
from service.domain.cache import Cache
from service.domain.collections.catalog import BYTES_OF_COLLECTION, BYTES_OF_LETTER, find_finished
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.profiles.definition import NOTHING, DeclaredProfile, read_profile
from service.domain.projects.lookup import CACHE_SECONDS, Project, Projects
from service.domain.steps import run_in_steps
from service.errors import Invalid, Location, RejectedByValidator, ServiceError, Unavailable, Violation
from service.schema.conformance import find_broken_rules
from service.schema.documents import complete, read
from service.schema.fields import USERS
from service.schema.file_urls import named_file
from service.schema.json_schema import profile_schema
from service.schema.violations import is_verdict, translate, translate_rules
from service.storage.documents import missing

CHANGING = "The schema of profiles is being changed; try again"
DATA: Location = ("body", "data")

Data = Mapping[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ProfileDraft:
    """Fields of a user's `data` on their way into the database, at `loc` of a request.

    A new user has no `user_id`, and gets the defaults of absent fields. With `drops` a field that does not fit is left
    out, for a user who fills in no form. `knows_users` is False where the users that it refers to may come later.
    """

    sent: Data
    loc: Location = DATA
    user_id: str | None = None
    drops: bool = False
    knows_users: bool = True


@dataclass(frozen=True, slots=True)
class JudgedProfile:
    """A draft, the profile that it was judged by, and the fields as they are stored."""

    draft: ProfileDraft
    profile: DeclaredProfile
    data: dict[str, Any]


class Profiles:
    """The declared profiles of all projects."""

    def __init__(self, projects: Projects, audit: Audit, judge: PatternJudge) -> None:
        self.projects = projects
        self.audit = audit
        self.judge = judge
        self._known: Cache[DeclaredProfile] = Cache(MAX_KNOWN_COLLECTIONS, CACHE_SECONDS, _weigh)

    async def find(self, project: Project) -> DeclaredProfile:
        """The remembered profile, else as it is stored now. A project without one costs no question."""
        if project.has_profile is False:
            return NOTHING
        return await self._known.get_or_load(project.id, partial(_load, project))

    async def refresh(self, project: Project) -> DeclaredProfile:
        """The profile as it is stored now."""
        return await self._known.reload(project.id, partial(_load, project))

    async def check(self, project: Project, draft: ProfileDraft) -> tuple[JudgedProfile, list[Violation]]:
        """The draft as it is stored, and its violations, with which it must not be."""
        return await self._check_by(await self.find(project), project, draft)

    async def accept(
        self, project: Project, draft: ProfileDraft, *, profile: DeclaredProfile | None = None
    ) -> JudgedProfile:
        """The draft as it is stored, by the profile in force or another. Raises Invalid."""
        return await self._accept_by(profile or await self.find(project), project, draft)

    async def store(
        self, project: Project, judged: JudgedProfile, write: Callable[[Data], Awaitable[Result]]
    ) -> Result:
        """The result of `write`, once more by the newest profile if that of `judged` was old and MongoDB refused it.

        Raises Invalid, Unavailable, and as `write`. In a transaction, which a refusal ends, it is written once.
        """
        try:
            return await write(judged.data)
        except RejectedByValidator as refusal:
            newest = await self.refresh(project)
            if newest.version == judged.profile.version or project.database.session is not None:
                raise describe_refusal(refusal, judged, newest) from None
        again = await self._accept_by(newest, project, judged.draft)
        try:
            return await write(again.data)
        except RejectedByValidator as refusal:
            raise describe_refusal(refusal, again, newest) from None

    async def _accept_by(self, profile: DeclaredProfile, project: Project, draft: ProfileDraft) -> JudgedProfile:
        judged, violations = await self._check_by(profile, project, draft)
        if violations and draft.drops:
            broken = {each.loc[len(draft.loc)] for each in violations if len(each.loc) > len(draft.loc)}
            fitting = {name: value for name, value in draft.sent.items() if name not in broken}
            judged, violations = await self._check_by(profile, project, replace(draft, sent=fitting))
        if violations:
            raise Invalid(violations)
        return judged

    async def _check_by(
        self, profile: DeclaredProfile, project: Project, draft: ProfileDraft
    ) -> tuple[JudgedProfile, list[Violation]]:
        if profile.is_free:
            return JudgedProfile(draft, profile, dict(draft.sent)), []
        try:
            data = (read if draft.user_id else complete)(draft.sent, profile.fields)
        except Invalid as error:
            return JudgedProfile(draft, profile, {}), [replace(each, loc=draft.loc) for each in error.violations]
        schema = profile_schema(profile.fields, additional=profile.additional, complete=draft.user_id is None)
        rules = await run_in_steps(project.database, find_broken_rules(data, schema))
        violations = translate_rules(rules, draft.loc)
        if fields := profile.patterned:
            violations += await self.judge.judge(project.id, data, fields, draft.loc)
        violations += await _find_foreign_files(profile, project, draft)
        violations += await _find_lost_users(profile, project, draft)
        # The storage takes a file by its URL, and keeps its name.
        kept = {name: draft.sent[name] for name in profile.files if name in draft.sent}
        return JudgedProfile(draft, profile, data | kept), violations


def describe_refusal(refusal: RejectedByValidator, judged: JudgedProfile, newest: DeclaredProfile) -> ServiceError:
    """The client's error: the verdict of the newest profile, or that the profile is being changed."""
    if newest.version != judged.profile.version or not is_verdict(refusal.err_info):
        return Unavailable(CHANGING)
    found = translate(refusal.err_info, ())
    return Invalid([replace(each, loc=(*judged.draft.loc, *each.loc[1:])) for each in found])


async def _load(project: Project) -> DeclaredProfile:
    return read_profile(await find_finished(project.database.outside, USERS))


async def _find_foreign_files(profile: DeclaredProfile, project: Project, draft: ProfileDraft) -> list[Violation]:
    """A field of a file keeps the file it has. Another one comes as a part of a form."""
    sent = {name: value for name in profile.files if isinstance(value := draft.sent.get(name), str)}
    if not sent:
        return []
    user = await project.users.find_profile(draft.user_id) if draft.user_id else None
    held = user.data if user is not None else {}
    msg = "Must be the URL of the file that the field has; another file comes as a part of a form"
    return [
        Violation((*draft.loc, name), msg, "file_url")
        for name, value in sent.items()
        if (file := named_file(value)) is None or file != named_file(held.get(name))
    ]


async def _find_lost_users(profile: DeclaredProfile, project: Project, draft: ProfileDraft) -> list[Violation]:
    """One question for all references in the draft."""
    names = profile.references if draft.knows_users else []
    sent = {name: value for name in names if isinstance(value := draft.sent.get(name), str)}
    gone = await missing(project.database, {USERS: set(sent.values())}) if sent else set()
    return [
        Violation((*draft.loc, name), "There is no user with this id", "reference_not_found")
        for name, value in sent.items()
        if (USERS, value) in gone
    ]


def _weigh(profile: DeclaredProfile) -> int:
    return BYTES_OF_COLLECTION + BYTES_OF_LETTER * len(repr(profile.schema))
