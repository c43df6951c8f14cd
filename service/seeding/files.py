"""Files of a seed: by user and field. They go the way of an upload, streamed from disk; equal bytes are left as they are."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.profile import change_profile, find_uploads
from service.domain.files import intake
from service.domain.files.files import Files
from service.domain.profiles.profiles import JudgedProfile, ProfileDraft
from service.domain.projects.lookup import Project
from service.errors import FileNotFound, ServiceError
from service.schema.file_urls import named_file
from service.seeding.attachments import digest_of, has_bytes, read_pieces
from service.seeding.documents import reason
from service.seeding.manifest import SeedFile
from service.seeding.references import comparable_email
from service.seeding.report import Report
from service.storage.users import StoredUser

KIND = "files"
# Each is as large as it is, and streamed in pieces.
FILES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class FileSeeder:
    """Stores the files of users. `folder` is the manifest's."""

    accounts: Accounts
    files: Files
    folder: Path
    report: Report

    async def seed(self, project: Project | None, entries: Sequence[SeedFile]) -> None:
        """A few at once, those of one user in their order. In a dry run users who are not there yet are taken to come."""
        for start in range(0, len(entries), FILES_AT_ONCE):
            by_user: dict[str, list[int]] = {}
            for number in range(start, min(start + FILES_AT_ONCE, len(entries))):
                by_user.setdefault(comparable_email(entries[number].user), []).append(number)
            await asyncio.gather(*(self._some(project, entries, numbers) for numbers in by_user.values()))

    async def _some(self, project: Project | None, entries: Sequence[SeedFile], numbers: Sequence[int]) -> None:
        for number in numbers:
            entry, place = entries[number], f"files[{number}]"
            try:
                await self._one(project, entry)
            except ServiceError as error:
                self.report.refuse(KIND, place, reason(error))
            except OSError as error:
                self.report.refuse(KIND, place, f"{entry.path}: cannot be read: {error.strerror}")
            self.report.observe(KIND, 1)

    async def _one(self, project: Project | None, entry: SeedFile) -> None:
        name = f"{entry.user} {entry.field}"
        digest = await digest_of(read_pieces(self.folder / entry.path))
        user = await _user(project, entry.user) if project else None
        if project is None or user is None:
            if not self.report.dry_run:
                raise FileNotFound(f"user: there is no user {entry.user}")
            self.report.created(KIND, name)
            return
        stored = named_file(user.data.get(entry.field))
        if stored is not None and await has_bytes(self.files, stored, digest):
            self.report.unchanged(KIND)
            return
        if not self.report.dry_run:
            await self._upload(UserCaller(project, user.id, user.version), entry)
        self.report.created(KIND, name)

    async def _upload(self, caller: UserCaller, entry: SeedFile) -> None:
        async def form() -> intake.FormParts:
            yield intake.FilePart(entry.field, entry.path.name, read_pieces(self.folder / entry.path))

        async def no_fields(_: dict[str, Any]) -> JudgedProfile:
            """There is no part `data` to check."""
            return await self.accounts.profiles.accept(caller.project, ProfileDraft({}, user_id=caller.user_id))

        uploads = await find_uploads(self.accounts, caller.project)
        async with self.files.store_files(caller.project, caller.user_id, form(), no_fields, uploads) as submission:
            await change_profile(self.accounts, caller, submission, by_server=True)


async def _user(project: Project, email: str) -> StoredUser | None:
    return await project.users.find_by_email(comparable_email(email))
