"""Projects that leave, come and are copied: the backup file, its making and its verification."""

from dataclasses import dataclass

from service.domain.audit.audit import Audit
from service.domain.projects import Foundation
from service.domain.projects.secrets import SecretBox
from service.storage.databases import Databases
from service.storage.leases import Leases
from service.storage.projects import ProjectStore


@dataclass(frozen=True, slots=True)
class Portable:
    """The capability. `secret_box` derives the key that signs manifests."""

    databases: Databases
    store: ProjectStore
    secret_box: SecretBox
    leases: Leases
    audit: Audit


def build_portable(base: Foundation) -> Portable:
    return Portable(base.databases, base.store, base.secret_box, base.leases, base.audit)
