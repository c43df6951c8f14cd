"""The schema of profiles in a seed: declared where there is none, and changed only where a seed may migrate."""

from dataclasses import dataclass
from typing import Any

from service.domain.profiles.changes import WantedProfile, preview_profile, replace_profile
from service.domain.profiles.definition import NEVER, NOTHING, DeclaredProfile, make_profile
from service.domain.profiles.profiles import Profiles
from service.domain.projects.lookup import Project
from service.errors import ConfigurationError, ServiceError
from service.schema.profiles import parse_profile
from service.seeding.manifest import ProfilePart
from service.seeding.report import Report
from service.seeding.schemas import explain

KIND = "profile"
NAME = "schema"


@dataclass(frozen=True, slots=True)
class ProfileSeeder:
    """Declares the schema of profiles. If it may `migrate`, it changes one that is there. A dry run writes nothing."""

    profiles: Profiles
    report: Report
    migrate: bool = False

    async def seed(self, project: Project | None, part: ProfilePart | None) -> DeclaredProfile:
        """The profile by which users are seeded. Raises ConfigurationError, which stops the seed."""
        present = await self.profiles.refresh(project) if project is not None else NOTHING
        if part is None:
            return present
        try:
            return await self._bring(project, present, WantedProfile(part.declared, part.additional))
        except ConfigurationError:
            raise
        except ServiceError as error:
            raise ConfigurationError(f"profile: {'; '.join(explain(error)[:2])}") from None

    async def _bring(self, project: Project | None, present: DeclaredProfile, wanted: WantedProfile) -> DeclaredProfile:
        is_new = present.version == NEVER
        before = describe_profile(present)
        after = {"schema": wanted.schema, "additional": wanted.additional}
        if before == after and not is_new:
            self.report.unchanged(KIND)
            return present
        if not (is_new or self.migrate):
            raise ConfigurationError("profile: differs from the one in force; change it with `seed --migrate`")
        note = await self._declare(project, wanted)
        if is_new:
            self.report.created(KIND, NAME)
        else:
            self.report.updated(KIND, NAME, before, after, note=note)
        return make_profile(wanted.schema, additional=wanted.additional)

    async def _declare(self, project: Project | None, wanted: WantedProfile) -> str:
        """A note on the users that the schema repairs."""
        if project is None:
            parse_profile(wanted.schema, additional=wanted.additional)
            return ""
        findings = await preview_profile(self.profiles, project, wanted)
        if findings.error:
            raise findings.error
        if not self.report.dry_run:
            await replace_profile(self.profiles, project, wanted)
        return f"repairs {findings.repairs:,} users" if findings.repairs else ""


def describe_profile(profile: DeclaredProfile) -> dict[str, Any]:
    """The body of the PUT that declares this profile."""
    return {"schema": dict(profile.schema), "additional": profile.additional}
