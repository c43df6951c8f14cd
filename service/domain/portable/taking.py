"""Takes a backup of one project. It begins again, into an empty sink, where collections were made or dropped meanwhile."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import compare
from service.domain.portable import Portable
from service.domain.portable.archive import ArchiveWriter, Sink
from service.domain.portable.copying import Advance, Copied, copy_project, ignore
from service.domain.portable.manifest import HEADER, MANIFEST, PROJECT, Header, Manifest, write_text
from service.domain.portable.project_text import write_project
from service.errors import CatalogChanged, ProjectBusy, ProjectNotFound
from service.schema.values import now, write_time
from service.storage.files.stored import CHUNKS, FILES
from service.storage.layout import DEFINITIONS, EVENTS, SESSIONS, is_in_backups
from service.storage.migrations import read_version

ATTEMPTS = 3
SIGNATURE = "backup manifest"
# The names of what may be left out → the parts that each is made of.
LEAVABLE: Mapping[str, frozenset[str]] = {
    "events": frozenset({EVENTS}),
    "sessions": frozenset({SESSIONS}),
    "files": frozenset({FILES, CHUNKS}),
}
# An empty sink for each attempt.
OpenSink = Callable[[], Sink]


@dataclass(frozen=True, slots=True)
class Taken:
    """A backup that was written: its manifest, and the length and the SHA-256 of the whole file."""

    manifest: Manifest
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A backup to take of a project: `without` are keys of LEAVABLE. One that `is_empty` has definitions and rules only."""

    project_id: str
    without: frozenset[str] = frozenset()
    attempts: int = ATTEMPTS
    is_empty: bool = False

    def has(self, collection: str) -> bool:
        """True if the records of a MongoDB collection are to be in the backup."""
        if self.is_empty:
            return collection in DEFINITIONS
        return is_in_backups(collection) and not any(collection in LEAVABLE[each] for each in self.without)


async def take_backup(portable: Portable, wanted: Wanted, open_sink: OpenSink, advance: Advance = ignore) -> Taken:
    """Writes a backup into a sink.

    Raises ProjectNotFound; ProjectBusy while another backup of the project is taken, and where its collections changed
    in each attempt; HistoryLost, Unavailable.
    """
    taken = list[Taken]()

    async def work() -> None:
        for _ in range(wanted.attempts - 1):
            with suppress(CatalogChanged):
                taken.append(await _attempt(portable, wanted, open_sink(), advance))
                return
        taken.append(await _attempt(portable, wanted, open_sink(), advance))

    if not await portable.leases.run_alone(f"project/{wanted.project_id}", work):
        raise ProjectBusy("Another backup of this project is being taken; try again when it has ended")
    return taken[0]


async def _attempt(portable: Portable, wanted: Wanted, sink: Sink, advance: Advance) -> Taken:
    taken_at, record = now(), await portable.store.find(wanted.project_id)
    if record is None:
        raise ProjectNotFound(f"There is no project {wanted.project_id}")
    with ArchiveWriter(sink, taken_at) as archive:
        archive.add(HEADER, write_text(Header(created_at=write_time(taken_at))))
        archive.add(PROJECT, write_project(record, await portable.store.keys(wanted.project_id)))
        copied = await copy_project(portable.databases.project(wanted.project_id), archive, wanted.has, advance)
        manifest = await _describe(portable, wanted, archive, copied, taken_at)
        text = write_text(manifest)
        archive.add(MANIFEST, text)
        sha256, size = await asyncio.to_thread(archive.finish, sign_manifest(portable, text))
    return Taken(manifest, sha256, size)


async def _describe(
    portable: Portable, wanted: Wanted, archive: ArchiveWriter, copied: Copied, taken_at: datetime
) -> Manifest:
    return Manifest(
        project_id=wanted.project_id,
        at=copied.at,
        taken_at=write_time(taken_at),
        consistency="snapshot",
        service_version=version("auth-collections"),
        project_version=await read_version(portable.databases.project(wanted.project_id).database),
        mongodb_version=await portable.databases.version(),
        counts=copied.counts,
        members=archive.members,
        left_out=["records"] if wanted.is_empty else sorted(wanted.without),
        warnings=[f"The file {name} is damaged: chunks of it are missing" for name in copied.damaged],
    )


def sign_manifest(portable: Portable, text: bytes) -> str:
    """The HMAC-SHA-256 of a manifest, under a key that is derived from SECRET_KEY, as hexadecimal digits."""
    return hmac.new(portable.secret_box.derive_key(SIGNATURE), text, "sha256").hexdigest()


async def note_backup(portable: Portable, taken: Taken) -> None:
    """Stores the audit entry of a backup."""
    await portable.audit.note(describe_taken(taken))


def describe_taken(taken: Taken) -> Act:
    """The audit entry of a backup."""
    manifest = taken.manifest
    figures = {"sha256": taken.sha256, "bytes": taken.bytes, "documents": manifest.documents, "files": manifest.files}
    target = Target("project", manifest.project_id)
    return Act(Action.BACKUP_MADE, target, manifest.project_id, compare({}, figures))
