"""The foundation of all other services: the database, and the services that find, make, migrate and delete projects."""

from dataclasses import dataclass
from math import inf

from service.domain.jobs.leader import NAME as LEADER
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.canary import Canary
from service.domain.projects.data_versions import DataVersions
from service.domain.projects.deletion import Deletions
from service.domain.projects.lookup import Projects
from service.domain.projects.migrator import Migrator
from service.domain.projects.secrets import SecretBox
from service.schema.file_urls import FileUrls
from service.settings import Settings
from service.storage.client import connect
from service.storage.databases import Databases
from service.storage.leases import Leases
from service.storage.migrations import Migrations
from service.storage.projects import ProjectStore


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
    default_tier: str
    versions: DataVersions

    def build_admin(self) -> ProjectAdmin:
        return ProjectAdmin(
            self.databases,
            self.store,
            self.secret_box,
            self.projects,
            self.canary,
            migrations=self.migrations,
            deletions=self.deletions,
            default_tier=self.default_tier,
        )


def build_foundation(settings: Settings) -> Foundation:
    databases = Databases(
        connect(settings.database_uri, app_name=settings.app_name),
        settings.database_prefix,
        FileUrls(f"{settings.files_url}/files/"),
        slow_seconds=settings.slow_query_ms / 1000 or inf,
    )
    store, secret_box, leases = ProjectStore(databases), SecretBox(settings.secret), Leases(databases)
    migrations = Migrations(databases, leases)
    migrator = Migrator(migrations)
    return Foundation(
        databases=databases,
        store=store,
        secret_box=secret_box,
        leases=leases,
        migrations=migrations,
        migrator=migrator,
        deletions=Deletions(databases, store, leases, leader=LEADER),
        projects=Projects(databases, store, secret_box, migrator, default_id=settings.default_project_id),
        canary=Canary(store, secret_box),
        default_tier=settings.default_tier,
        versions=DataVersions(databases),
    )
