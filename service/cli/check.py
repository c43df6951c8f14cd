"""What `auth-collections check` looks at, and how to mend what it finds."""

from dataclasses import dataclass

from service.domain.collections.reconcile import find_drift
from service.domain.projects.admin import ProjectAdmin
from service.errors import ConfigurationError
from service.file_limit import raise_file_limit
from service.storage.databases import Databases

# A collection has up to 64 files, and each client its socket.
ENOUGH_FILES = 16_384
RAISE_FILES = "raise the hard limit: ulimit -Hn, LimitNOFILE of systemd, --ulimit nofile of Docker"
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
    """The findings, most fundamental first. Raises Unavailable when MongoDB does not answer."""
    version, topology = await databases.version(), (await databases.hello()).topology
    files = raise_file_limit()
    findings = [
        Finding(files >= ENOUGH_FILES, f"open files: at most {files:,} ({ENOUGH_FILES:,} are enough; {RAISE_FILES})"),
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
        findings.append(await _check_key(admin, project.id, made))
        findings += [
            Finding(False, f"project {project.id}, collection {name}: lacks {', '.join(what)} ({MEND})")
            for name, what in (await find_drift(project.database)).items()
        ]
    return findings


async def _check_key(admin: ProjectAdmin, project_id: str, made: str) -> Finding:
    try:
        await admin.find(project_id)
    except ConfigurationError as error:
        return Finding(False, f"project {project_id}: {error.detail}; {made}")
    return Finding(True, f"project {project_id}: SECRET_KEY opens its secrets, {made}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
