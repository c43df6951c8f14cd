"""What `auth-collections check` looks at, and how to mend what it finds."""

from dataclasses import dataclass

from service.domain.collections.reconcile import find_drift
from service.domain.projects.admin import ProjectAdmin
from service.storage.databases import Databases

OLDEST_VERSION = (6, 0)
MEND = 'mend it by PATCH /api/collections/<name> with {"schema": {}}'


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: whether it is as it must be, and in words what is and what to do."""

    good: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok   ' if self.good else 'WRONG'} {self.text}"


async def run_checks(databases: Databases, admin: ProjectAdmin) -> list[Finding]:
    """The findings, most fundamental first. Raises Unavailable when MongoDB does not answer, ConfigurationError when
    SECRET_KEY does not open the stored secrets."""
    server = await databases.server()
    version, topology = server["version"], server["topology"]
    findings = [
        Finding(_numbers(version) >= OLDEST_VERSION, f"MongoDB {version} (6.0 or newer is needed)"),
        Finding(
            topology != "standalone", f"topology: {topology} (transactions need a replica set or a sharded cluster)"
        ),
    ]
    for project in await admin.list():
        missing = await project.database.missing_indexes()
        await project.database.ensure_indexes()
        made = (
            f"made missing indexes of users: {', '.join(missing)}" if missing else "users and files have their indexes"
        )
        findings.append(Finding(True, f"project {project.id}: SECRET_KEY opens its secrets, {made}"))
        findings += [
            Finding(False, f"project {project.id}, collection {name}: lacks {', '.join(what)} ({MEND})")
            for name, what in (await find_drift(project.database)).items()
        ]
    return findings


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
