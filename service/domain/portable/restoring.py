"""Restores a project under an id that is free. Nothing of it can be seen before all of it is there.

1. The whole file is read and judged. 2. The id is reserved. 3. Definitions make the collections with their validators;
then all documents are written, and read back: their digests are those of what was sent. 4. Indexes, and the steps from
the backup's version to the present one. 5. One transaction puts the project into the reservation's place.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import compare
from service.domain.portable import Portable
from service.domain.portable.copying import Advance, ignore
from service.domain.portable.filling import Filled, fill_database
from service.domain.portable.manifest import PROJECT
from service.domain.portable.project_text import read_project
from service.domain.portable.reading import BackupFile
from service.domain.portable.restored_project import RestoredProject, describe_needs, make_copy, make_project
from service.domain.portable.rewriting import OtherId, Rewriting, raise_versions
from service.domain.portable.verifying import check_content, check_maker, is_ours
from service.domain.projects.admin import check_project
from service.domain.projects.keys import ProjectKeys
from service.domain.projects.setting_changes import keep_images_of_settings, keep_names_of_users, needs_images
from service.errors import BackupDamaged, BackupTooNew, ConfigurationError, Conflict, RestoreInvalid, ServiceError
from service.storage.client import ClientSession
from service.storage.migrations import PROJECT_MIGRATIONS
from service.storage.reservations import RENEW_SECONDS, Reservation


@dataclass(frozen=True, slots=True)
class RestoringJob:
    """The job that restores a project. `keep` stores the outcome, in the transaction that makes the project visible."""

    id: str
    keep: Callable[[ClientSession, "Restored"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Choices:
    """`accepts_foreign` takes a backup of another SECRET_KEY, `with_keys` its API keys too.

    `with_secrets` and `name` are of a copy, which has another id: it keeps secrets of providers, and has that name.
    The copy of a `job` has no API keys, for a job shows none.
    """

    accepts_foreign: bool = False
    with_keys: bool = False
    skips_invalid: bool = False
    is_dry_run: bool = False
    with_secrets: bool = False
    name: str | None = None
    job: RestoringJob | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """`needs` names what an operator must set again, `left_out` what the backup lacks, `rejected` the documents left out.

    `new_keys` are those of a project under another id than it had.
    """

    project_id: str
    needs: list[str]
    left_out: list[str]
    rejected: list[str] = field(default_factory=list)
    new_keys: ProjectKeys | None = field(default=None, repr=False)


async def restore_project(
    portable: Portable,
    backup: BackupFile,
    project_id: str,
    choices: Choices,
    advance: Advance = ignore,
    *,
    action: Action = Action.PROJECT_RESTORED,
) -> Restored:
    """Under another id than it had, the project is a copy, which sends no mail. `action` is that of the audit entry.

    Raises Conflict where the id is taken; BackupDamaged, BackupForeign, BackupTooNew, RestoreInvalid.
    """
    project, needs = await _judge(portable, backup, project_id, choices, advance)
    if choices.is_dry_run:
        return Restored(project_id, needs, backup.manifest.left_out)
    database = portable.databases.project(project_id)
    reservation = Reservation(portable.databases, project_id, choices.job.id if choices.job else secrets.token_hex(8))
    if await reservation.is_free() and await database.is_there():
        raise Conflict(f"The database {database.database.name} is there without a project; drop it first")
    rewriting = _choose_rewriting(portable, backup, project_id)
    async with _reserving(portable, reservation, project_id):
        filled = await fill_database(database, backup, rewriting, advance, skips_invalid=choices.skips_invalid)
        await portable.migrations.complete(database, backup.manifest.project_version)
        if needs_images((found := portable.projects.opened(project.record)).settings):
            await keep_images_of_settings(found)
        if found.settings.usernames != "off":
            await keep_names_of_users(found)
        restored = Restored(project_id, needs, backup.manifest.left_out, filled.rejected, project.new_keys)
        act = _describe(action, project, backup, filled)

        async def note(session: ClientSession) -> None:
            await portable.audit.record(session, act)
            if choices.job is not None:
                await choices.job.keep(session, restored)

        await reservation.publish(project.record, project.keys, note)
    portable.projects.forget_all()
    return restored


def _choose_rewriting(portable: Portable, backup: BackupFile, project_id: str) -> Rewriting:
    source_id = backup.manifest.project_id
    return raise_versions if project_id == source_id else OtherId(source_id, project_id, portable.secret_box)


async def free_id(portable: Portable, project_id: str, holder: str) -> None:
    """Drops what an earlier run of the same job left under the id, and returns when the id is free."""
    if await Reservation(portable.databases, project_id, holder).release():
        await portable.deletions.finish(project_id)


async def _judge(
    portable: Portable, backup: BackupFile, project_id: str, choices: Choices, advance: Advance
) -> tuple[RestoredProject, list[str]]:
    if backup.manifest.project_version > len(PROJECT_MIGRATIONS):
        raise BackupTooNew("a later version of the service made the backup; restore it with that version")
    text = read_project(backup.read_text(PROJECT))
    if text.id != backup.manifest.project_id:
        raise BackupDamaged(f"{PROJECT} is of another project than the manifest")
    check_project(choices.name or text.name, project_id)
    await asyncio.to_thread(check_content, backup, advance)
    ours = is_ours(portable, backup)
    if not choices.accepts_foreign:
        check_maker(portable, backup)
    if project_id == text.id:
        project = make_project(text, portable.secret_box, is_ours=ours, with_keys=ours or choices.with_keys)
    else:
        secrets_too = choices.with_secrets
        project = make_copy(text, portable.secret_box, project_id, name=choices.name, with_secrets=secrets_too)
        project = project if choices.job is None else replace(project, keys=[], new_keys=None)
    try:
        portable.projects.opened(project.record)
    except ConfigurationError as error:
        raise RestoreInvalid(error.detail) from None
    return project, describe_needs(project.needs, is_ours=ours)


@asynccontextmanager
async def _reserving(portable: Portable, reservation: Reservation, project_id: str) -> AsyncIterator[None]:
    """Holds the id meanwhile. All that was written is dropped, unless it was published."""
    await portable.canary.check()
    if not await reservation.begin():
        raise await portable.store.conflict(project_id)
    renewing = asyncio.create_task(_renew(reservation))
    try:
        yield
    except BaseException:
        renewing.cancel()
        with suppress(ServiceError):
            # The answer to a publication that succeeded may have been lost: a project's database is never dropped here.
            if await reservation.release():
                await portable.deletions.advance(project_id)
                await portable.deletions.advance(project_id)
        raise
    finally:
        renewing.cancel()


async def _renew(reservation: Reservation) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(ServiceError):
            await reservation.renew()


def _describe(action: Action, project: RestoredProject, backup: BackupFile, filled: Filled) -> Act:
    """The audit entry, which names the project that a copy is of."""
    project_id, manifest = project.record["_id"], backup.manifest
    source = {} if manifest.project_id == project_id else {"of": manifest.project_id}
    figures = {"taken_at": manifest.taken_at, "documents": filled.documents, "rejected": len(filled.rejected)}
    target = Target("project", project_id, project.record["name"])
    return Act(action, target, project_id, compare({}, source | figures), is_new=True)
