"""Reading and changing the settings of a project, with the version of what is set and an entry in the audit log."""

import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import HIDDEN, NO_CHANGES, AuditChange, KeptChanges, keep_changes
from service.domain.projects.lookup import Project, Projects
from service.domain.projects.secrets import SecretBox
from service.domain.projects.setting_forms import NEEDS, settings_schema
from service.domain.projects.settings import SECRET_SETTINGS, ProjectSettings, read_project_settings, stored
from service.errors import InvalidConfiguration, ProjectNotFound, UsernameTaken, VersionConflict, Violation
from service.query.shapes import USERS
from service.schema.event_patterns import wants_kind
from service.schema.versions import Versions, is_one_of, version_tag
from service.storage.client import ClientSession, Document
from service.storage.images import keep_images
from service.storage.projects import ProjectStore
from service.storage.user_names import find_name_clashes, keep_names_unique
from service.storage.wanted_images import keep_images_of_feed

# Settings that owners and commands change, because they decide what a project costs the deployment.
OWNERS_SETTINGS = frozenset({"TIER", "DAILY_LIMIT", "COLLECTION_LIMIT"})
FIRST_VERSION = 1
BODY = ("body", "settings")
KNOWN = ProjectSettings.model_fields.keys()
PYTHON_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "object": dict}
TYPE_NAMES = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "object": "an object"}
# Settings that decide which earlier records MongoDB keeps.
OF_IMAGES = frozenset({"REALTIME_USERS", "FEED", "FEED_INCLUDE"})
Allow = Callable[[Set[str]], None]


@dataclass(frozen=True, slots=True)
class SetSettings:
    """The settings that are set, without secrets, the names of secrets that are set, and the version of both."""

    settings: Mapping[str, Any]
    secrets: Sequence[str]
    version: int


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The settings after a change, or after a dry run of one, and the changes as an audit entry has them."""

    after: SetSettings
    changes: Sequence[Mapping[str, Any]]


def allow_all(_: Set[str]) -> None:
    """For commands, which may change every setting."""


class SettingChanges:
    """The settings of all projects. Changes are in force within five seconds."""

    def __init__(
        self, store: ProjectStore, secret_box: SecretBox, projects: Projects, audit: Audit, *, default_tier: str
    ) -> None:
        self._store = store
        self._secret_box = secret_box
        self._projects = projects
        self._audit = audit
        self._default_tier = default_tier

    async def read(self, project_id: str) -> SetSettings:
        """Raises ProjectNotFound."""
        record = await self._store.find(project_id)
        if record is None:
            raise ProjectNotFound(f"There is no project {project_id}")
        return _show(self._projects.opened(record).settings, _version(record))

    async def change(
        self,
        project_id: str,
        values: Mapping[str, Any],
        *,
        if_match: Versions = None,
        dry_run: bool = False,
        allow: Allow = allow_all,
    ) -> SettingsChange:
        """Sets each named setting; None is its default again. A dry run changes nothing.

        `allow` is given the names of the settings that change, and raises for those that the caller may not change. Raises
        InvalidConfiguration, VersionConflict where the version is none of `if_match`, ProjectNotFound.
        """
        values = {**values, "TIER": values["TIER"] or self._default_tier} if "TIER" in values else values
        if "USERNAMES" in values:
            await self._prepare_names(project_id, values, dry_run=dry_run)
        outcomes = list[SettingsChange]()

        async def decide(session: ClientSession, record: Document) -> Document | None:
            version, before = _version(record), self._projects.opened(record).settings
            if not is_one_of(version, if_match):
                raise VersionConflict(version_tag(version))
            after = merge_settings(before, values)
            kept = _compare(before, after, allow)
            is_change = kept != NO_CHANGES
            shown = _show(after, version + is_change)
            outcomes.append(SettingsChange(shown, json.loads(kept.text)))
            if dry_run or not is_change:
                return None
            target = Target("project", project_id, record["name"])
            await self._audit.record(session, Act(Action.SETTINGS_CHANGED, target, project_id, kept))
            update = self._update(project_id, stored(before), stored(after))
            return {**update, "$set": {**update.get("$set", {}), "settings_version": shown.version}}

        try:
            await self._store.change(project_id, decide)
        finally:
            self._projects.forget_all()
            # After a refusal the index goes, too.
            if "USERNAMES" in values and not dry_run:
                await keep_names_of_users(await self._projects.by_id(project_id))
        if not OF_IMAGES.isdisjoint(values) and not dry_run:
            await keep_images_of_settings(await self._projects.by_id(project_id))
        return outcomes[-1]

    async def _prepare_names(self, project_id: str, values: Mapping[str, Any], *, dry_run: bool) -> None:
        """Makes the names of users unique, before the setting says that they are. Raises InvalidConfiguration."""
        project = await self._projects.by_id(project_id)
        if merge_settings(project.settings, values).usernames == "off":
            return
        if clashes := await find_name_clashes(project.database):
            raise _describe_clashes(clashes)
        if not dry_run:
            try:
                await keep_names_unique(project.database, enabled=True)
            except UsernameTaken:
                raise _describe_clashes(await find_name_clashes(project.database)) from None

    def _update(self, project_id: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Document:
        """The update of the record: settings that are equal stay as they are, sealed ones too."""
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        given = {f"settings.{name}": value for name, value in self.seal(project_id, changed).items()}
        removed = {f"settings.{name}": "" for name in before.keys() - after.keys()}
        update: Document = {"$set": given, "$unset": removed}
        return {operator: fields for operator, fields in update.items() if fields}

    def seal(self, project_id: str, settings: Mapping[str, Any]) -> Document:
        """The stored form of settings, of which secrets are sealed."""
        return {
            name: self._secret_box.seal(value, f"{project_id}/{name}") if name in SECRET_SETTINGS else value
            for name, value in settings.items()
        }


def needs_images(settings: ProjectSettings) -> bool:
    """True if MongoDB keeps any earlier record for these settings."""
    return settings.realtime_users or (bool(settings.feed) and settings.feed_include != "ids")


async def keep_images_of_settings(project: Project) -> None:
    """Lets MongoDB keep the earlier records of users who can be followed, and of what the feed keeps with its events."""
    settings = project.settings
    patterns = () if settings.feed_include == "ids" else settings.feed
    users = settings.realtime_users or wants_kind(patterns, "users")
    await keep_images(project.database, USERS.collection, enabled=users)
    await keep_images_of_feed(project.database, patterns)


async def keep_names_of_users(project: Project) -> None:
    """Lets MongoDB keep the names of users unique while they sign in with them."""
    await keep_names_unique(project.database, enabled=project.settings.usernames != "off")


def _describe_clashes(names: Sequence[str]) -> InvalidConfiguration:
    shown = ", ".join(names)
    return InvalidConfiguration.one((*BODY, "USERNAMES"), f"USERNAMES: several users have the same name: {shown}")


def merge_settings(before: ProjectSettings, values: Mapping[str, Any]) -> ProjectSettings:
    """The settings after `values`, of which each may be None for the default. Raises InvalidConfiguration."""
    kept = {name: value for name, value in stored(before).items() if name not in values}
    # An unknown name is refused, also without a value.
    given = {name: value for name, value in values.items() if value is not None or name.lower() not in KNOWN}
    after = read_project_settings(kept | given)
    check_needs(after)
    return after


def check_types(values: Mapping[str, Any]) -> None:
    """Raises InvalidConfiguration for a value of another JSON type than its setting's; a command sends texts only."""
    kinds = {name: each["type"] for name, each in settings_schema()["properties"].items()}
    wrong = [
        Violation((*BODY, name), f"Must be {TYPE_NAMES[kinds[name]]}", "type_error")
        for name, value in values.items()
        if name in kinds and value is not None and type(value) is not PYTHON_TYPES[kinds[name]]
    ]
    if wrong:
        raise InvalidConfiguration(wrong)


OF_PROVIDED_CAPTCHA = ("CAPTCHA_SITE_KEY", "CAPTCHA_SECRET", "CAPTCHA_HOSTS")


def check_needs(settings: ProjectSettings) -> None:
    """Raises InvalidConfiguration for a setting whose needs are not met; a switched-off one has none."""
    values = settings.model_dump()
    missing = [
        Violation((*BODY, name), _describe_need(name, f"{needed}={value}", values[name.lower()]), "needs")
        for name, needs in NEEDS.items()
        for needed, value in needs.items()
        if values[name.lower()] and values[needed.lower()] != value
    ]
    missing += [
        Violation((*BODY, name), f"{name}: CAPTCHA={settings.captcha} needs it", "needs")
        for name in (OF_PROVIDED_CAPTCHA if settings.captcha in {"turnstile", "hcaptcha"} else ())
        if not values[name.lower()]
    ]
    if missing:
        raise InvalidConfiguration(missing)


def _compare(before: ProjectSettings, after: ProjectSettings, allow: Allow) -> KeptChanges:
    one, other = stored(before), stored(after)
    changed = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    allow(set(changed))
    return keep_changes(
        AuditChange(("settings", name), _write(name, one.get(name)), _write(name, other.get(name))) for name in changed
    )


def _show(settings: ProjectSettings, version: int) -> SetSettings:
    values = stored(settings)
    shown = {name: _write(name, value) for name, value in values.items() if name not in SECRET_SETTINGS}
    return SetSettings(shown, sorted(SECRET_SETTINGS & values.keys()), version)


def _write(name: str, value: Any) -> Any:
    """A stored value as a request would send it; a secret is hidden."""
    if value is not None and name in SECRET_SETTINGS:
        return HIDDEN
    return ",".join(value) if isinstance(value, list) else value


def _version(record: Document) -> int:
    return int(record.get("settings_version", FIRST_VERSION))


def _describe_need(name: str, needed: str, value: object) -> str:
    off = "0" if type(value) is int else "false"
    return f"{name} needs {needed}; set {needed} as well, or {name}={off}"
