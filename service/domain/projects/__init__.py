"""Projects: their settings, secrets and lookup. The foundation of all other capabilities."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from service.domain.audit.audit import Audit
from service.domain.paces import PRESENCE, Presence
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.data_versions import DataVersions, Migrator
from service.domain.projects.deletion import Deletions
from service.domain.projects.keys import Keys
from service.domain.projects.lookup import Projects
from service.domain.projects.provider_administration import ProviderAdministration
from service.domain.projects.readiness import Canary
from service.domain.projects.secrets import SecretBox
from service.domain.projects.setting_changes import SettingChanges
from service.domain.projects.signing_keys import SigningKeys
from service.storage.databases import Databases
from service.storage.leases import LEADER, Leases
from service.storage.migrations import Migrations
from service.storage.projects import ProjectStore

CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Foundation:
    """The services that find, make, migrate and delete projects. Each capability is built on it.

    `presence` knows the projects that have sent requests lately, and `base_url` is the service's own.
    """

    databases: Databases
    store: ProjectStore
    secret_box: SecretBox
    leases: Leases
    migrations: Migrations
    migrator: Migrator
    deletions: Deletions
    projects: Projects
    canary: Canary
    versions: DataVersions
    admin: ProjectAdmin
    keys: Keys
    signing_keys: SigningKeys
    providers: ProviderAdministration
    audit: Audit
    setting_changes: SettingChanges
    base_url: str
    presence: Presence = PRESENCE

    @property
    def origin(self) -> str:
        """The origin of pages that the service serves itself."""
        return "/".join(self.base_url.split("/")[:3])

    async def close(self) -> None:
        """Closes the connections. A process that is to end does so, whatever its connections do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.databases.client.close()


def build_projects(
    databases: Databases, key: bytes, *, base_url: str, default_id: str | None, default_tier: str, audit_days: int
) -> Foundation:
    store, secret_box, leases = ProjectStore(databases), SecretBox(key), Leases(databases)
    canary, audit = Canary(store, secret_box), Audit(databases, days=audit_days)
    migrations, deletions = Migrations(databases, leases), Deletions(databases, store, leases, leader=LEADER)
    migrator = Migrator(migrations)
    projects = Projects(databases, store, secret_box, migrator, default_id=default_id)
    setting_changes = SettingChanges(store, secret_box, projects, audit, default_tier=default_tier)
    admin = ProjectAdmin(
        databases,
        store,
        secret_box,
        projects,
        canary,
        migrations=migrations,
        deletions=deletions,
        audit=audit,
        settings=setting_changes,
        default_tier=default_tier,
    )
    return Foundation(
        databases=databases,
        store=store,
        secret_box=secret_box,
        leases=leases,
        migrations=migrations,
        migrator=migrator,
        deletions=deletions,
        projects=projects,
        canary=canary,
        versions=DataVersions(databases),
        admin=admin,
        keys=Keys(store, projects, audit),
        signing_keys=SigningKeys(store, secret_box, projects, audit),
        providers=ProviderAdministration(admin, store, secret_box, projects, audit=audit, base_url=base_url),
        audit=audit,
        setting_changes=setting_changes,
        base_url=base_url,
    )
