"""Projects that leave, come and are copied: the backup file, its making and its verification."""

from dataclasses import dataclass

from service.domain.audit.audit import Audit
from service.domain.projects import Foundation
from service.domain.projects.deletion import Deletions
from service.domain.projects.lookup import Projects
from service.domain.projects.readiness import Canary
from service.domain.projects.secrets import SecretBox
from service.storage.databases import Databases
from service.storage.leases import Leases
from service.storage.migrations import Migrations
from service.storage.projects import ProjectStore


@dataclass(frozen=True, slots=True)
class Portable:
    """The capability. `secret_box` derives the key that signs manifests."""

    databases: Databases
    store: ProjectStore
    secret_box: SecretBox
    leases: Leases
    audit: Audit
    projects: Projects
    canary: Canary
    migrations: Migrations
    deletions: Deletions


def build_portable(base: Foundation) -> Portable:
    return Portable(
        databases=base.databases,
        store=base.store,
        secret_box=base.secret_box,
        leases=base.leases,
        audit=base.audit,
        projects=base.projects,
        canary=base.canary,
        migrations=base.migrations,
        deletions=base.deletions,
    )
