"""The foundation of all other services: the database, and the services that find, make, migrate and delete projects.

Commands that need no more import this alone, because importing all services costs more CPU.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from service.domain.audit.audit import Audit
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
from service.schema.file_urls import FileUrls
from service.settings import Settings
from service.storage.client import connect
from service.storage.databases import Databases
from service.storage.leases import LEADER, Leases
from service.storage.migrations import Migrations
from service.storage.projects import ProjectStore

CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Foundation:
    """The services that find, make, migrate and delete projects."""

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

    async def close(self) -> None:
        """Closes the connections. A process that is to end does so, whatever its connections do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.databases.client.close()


def build_foundation(settings: Settings) -> Foundation:
    databases = Databases(
        connect(settings.database_uri, app_name=settings.app_name),
        settings.database_prefix,
        FileUrls(f"{settings.files_url}/files/"),
        slow_seconds=settings.slow_query_ms / 1000 or inf,
    )
    store, secret_box, leases = ProjectStore(databases), SecretBox(settings.secret), Leases(databases)
    migrations, canary = Migrations(databases, leases), Canary(store, secret_box)
    migrator, deletions = Migrator(migrations), Deletions(databases, store, leases, leader=LEADER)
    projects = Projects(databases, store, secret_box, migrator, default_id=settings.default_project_id)
    audit = Audit(databases, days=settings.audit_days)
    setting_changes = SettingChanges(store, secret_box, projects, audit, default_tier=settings.default_tier)
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
        default_tier=settings.default_tier,
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
        providers=ProviderAdministration(admin, store, secret_box, projects, audit=audit, base_url=settings.base_url),
        audit=audit,
        setting_changes=setting_changes,
    )
