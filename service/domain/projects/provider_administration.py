"""The operations of `auth-collections provider`: a project's identity providers, set, shown and removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.bounds import MAX_PROVIDERS, MAX_VIOLATIONS
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import NO_CHANGES, compare
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.lookup import Project, Projects
from service.domain.projects.providers import (
    DEFAULT,
    PROVIDER_SECRETS,
    Provider,
    ProviderSettings,
    check_complete,
    read_provider,
)
from service.domain.projects.secrets import SecretBox
from service.domain.projects.settings import stored
from service.errors import InvalidConfiguration, ProviderNotFound, Violation
from service.schema.values import now
from service.storage.client import ClientSession, Document
from service.storage.projects import ProjectStore

CALLBACK_PATH = "/auth-collections/auth-idp-redirect"
# The prefix of the project settings that describe its provider.
DEFAULT_PREFIX = "IDP_"


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A provider as commands show it. `settings` have secrets in clear; `preset` is None for the one of the IDP settings."""

    name: str
    title: str
    preset: str | None
    redirect_url: str
    settings: Mapping[str, Any]


class ProviderAdministration:
    """Changes are in force within five seconds."""

    def __init__(
        self,
        admin: ProjectAdmin,
        store: ProjectStore,
        secret_box: SecretBox,
        projects: Projects,
        *,
        audit: Audit,
        base_url: str,
    ) -> None:
        self._admin = admin
        self._audit = audit
        self._store = store
        self._secret_box = secret_box
        self._projects = projects
        self._base_url = base_url

    async def replace(
        self, project_id: str, name: str, preset: str | None, settings: Mapping[str, str | None]
    ) -> ProviderEntry:
        """As `set`, for all settings of the provider: one that is left out goes, but a secret stays."""
        gone = dict.fromkeys(
            name.upper() for name in ProviderSettings.model_fields if name.upper() not in PROVIDER_SECRETS
        )
        return await self.set(project_id, name, preset, {**gone, **settings})

    async def set(
        self, project_id: str, name: str, preset: str | None, changes: Mapping[str, str | None]
    ) -> ProviderEntry:
        """Sets each key, and makes the provider if there is none; None removes a key.

        Without `preset` that of the provider stays, and a new one is the preset of its name. Raises ProjectNotFound
        and InvalidConfiguration for a wrong or missing value.
        """
        _check_names(changes)

        async def decide(session: ClientSession, record: Document) -> Document | None:
            known = self._projects.opened(record).providers
            provider, before = _merge(name, preset, changes, known), _describe(known.get(name))
            if name not in known and len(known) >= MAX_PROVIDERS:
                msg = f"A project has at most {MAX_PROVIDERS} providers; remove one that is not used"
                raise InvalidConfiguration.one(("path", "name"), msg)
            found = compare(before, _describe(provider), secrets=PROVIDER_SECRETS)
            if found == NO_CHANGES:
                return None
            act = Act(Action.PROVIDER_SET, Target("provider", name), project_id, found, is_new=name not in known)
            await self._audit.record(session, act)
            return self._update(project_id, provider, record)

        await self._store.change(project_id, decide)
        self._projects.forget_all()
        return await self.find(project_id, name)

    async def list(self, project_id: str) -> Sequence[ProviderEntry]:
        """The one of the IDP settings first, where it is set. Raises ProjectNotFound."""
        project = await self._admin.find(project_id)
        first = [_default_entry(project)] if project.settings.idp_client_id else []
        return [*first, *(self._entry(project, provider) for provider in project.providers.values())]

    async def find(self, project_id: str, name: str) -> ProviderEntry:
        """Raises ProjectNotFound, NotFound."""
        found = next((entry for entry in await self.list(project_id) if entry.name == name), None)
        if found is None:
            raise _not_found(project_id, name)
        return found

    async def remove(self, project_id: str, name: str) -> None:
        """Removes a provider: no sign-in by it succeeds any more; its users stay.

        Raises ProjectNotFound, NotFound, InvalidConfiguration.
        """
        if name == DEFAULT:
            msg = f"{DEFAULT} is the provider of the IDP settings; unset those with project set"
            raise InvalidConfiguration.one(("path", "name"), msg)

        async def decide(session: ClientSession, record: Document) -> Document:
            provider = self._projects.opened(record).providers.get(name)
            if provider is None:
                raise _not_found(project_id, name)
            found = compare(_describe(provider), {}, secrets=PROVIDER_SECRETS)
            act = Act(Action.PROVIDER_REMOVED, Target("provider", name), project_id, found)
            await self._audit.record(session, act)
            return {"$unset": {f"providers.{name}": ""}}

        await self._store.change(project_id, decide)
        self._projects.forget_all()

    def _entry(self, project: Project, provider: Provider) -> ProviderEntry:
        url = redirect_url(self._base_url, project.id, provider.name)
        return ProviderEntry(provider.name, provider.title, provider.preset.name, url, _values(provider))

    def _update(self, project_id: str, provider: Provider, record: Document) -> Document:
        """The update of the project's record that stores a provider."""
        known = record.get("providers", {}).get(provider.name, {})
        values = {
            key: self._secret_box.seal(value, f"{project_id}/{provider.name}/{key}")
            if key in PROVIDER_SECRETS
            else value
            for key, value in _values(provider).items()
        }
        made = {"preset": provider.preset.name, "settings": values, "created_at": known.get("created_at") or now()}
        return {"$set": {f"providers.{provider.name}": made}}


def redirect_url(base_url: str, project_id: str, name: str) -> str:
    """The URL to which a provider redirects browsers: one for each, so that none can be mistaken for another (RFC 9700
    section 4.4.2).
    """
    return f"{base_url}{CALLBACK_PATH}/{project_id}/{name}"


def _check_names(names: Mapping[str, Any]) -> None:
    """Raises InvalidConfiguration for an unknown name. Removed settings pass no other check."""
    known = {name.upper() for name in ProviderSettings.model_fields}
    if unknown := sorted(names.keys() - known):
        raise InvalidConfiguration(
            Violation(("body", "settings", name), f"{name} is not a setting of a provider", "extra_forbidden")
            for name in unknown[:MAX_VIOLATIONS]
        )


def _merge(name: str, preset: str | None, changes: Mapping[str, str | None], known: Mapping[str, Provider]) -> Provider:
    """The provider after the changes. Raises InvalidConfiguration."""
    present = known.get(name)
    before = _values(present) if present else {}
    values = {key: value for key, value in {**before, **changes}.items() if value is not None}
    provider = read_provider(name, preset or (present.preset.name if present else name), values)
    check_complete(provider)
    return provider


def _describe(provider: Provider | None) -> Document:
    """The provider as an audit entry shows it."""
    return {"preset": provider.preset.name, "settings": _values(provider)} if provider else {}


def _values(provider: Provider) -> dict[str, Any]:
    values = provider.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key in PROVIDER_SECRETS & values.keys():
        values[key] = getattr(provider.settings, key.lower()).get_secret_value()
    return values


def _default_entry(project: Project) -> ProviderEntry:
    values = {name: value for name, value in stored(project.settings).items() if name.startswith(DEFAULT_PREFIX)}
    return ProviderEntry(DEFAULT, DEFAULT, None, project.settings.idp_redirect_url or "", values)


def _not_found(project_id: str, name: str) -> ProviderNotFound:
    return ProviderNotFound(f"The project {project_id} has no provider {name}")
