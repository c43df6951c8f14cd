"""Verifies a backup: its directory, digests, counts and BSON; its maker; and its records against those of a project now."""

import hmac
from collections.abc import Mapping

from service.domain.portable import Portable
from service.domain.portable.copying import Advance, ignore
from service.domain.portable.manifest import Manifest
from service.domain.portable.reading import BackupFile
from service.domain.portable.taking import Wanted, sign_manifest, take_backup
from service.errors import BackupDamaged, BackupForeign
from service.storage.bson_stream import BadBson, read_document


def check_content(backup: BackupFile, advance: Advance = ignore) -> None:
    """Reads every member to its end. Raises BackupDamaged with the first one that is not as it should be."""
    records = backup.manifest.content()
    for name in backup.manifest.members:
        if name in records:
            _check_records(backup, name, advance)
        else:
            for _ in backup.read(name):
                pass


def _check_records(backup: BackupFile, name: str, advance: Advance) -> None:
    for document in backup.documents(name):
        try:
            read_document(document)
        except BadBson as error:
            raise BackupDamaged(f"the bytes of {name} {error}") from None
        advance("documents", 1)


def is_ours(portable: Portable, backup: BackupFile) -> bool:
    """True if the manifest was signed with this SECRET_KEY."""
    return hmac.compare_digest(sign_manifest(portable, backup.manifest_text).encode(), backup.signature.encode())


def check_maker(portable: Portable, backup: BackupFile) -> None:
    """Raises BackupForeign."""
    if not is_ours(portable, backup):
        raise BackupForeign("the backup was not made with this SECRET_KEY, or its manifest was changed")


class _Nowhere:
    def write(self, data: bytes, /) -> None:
        pass


async def compare_with_project(portable: Portable, manifest: Manifest, project_id: str) -> list[str]:
    """The members whose records are others now, or that only one of both has. Takes a backup that is kept nowhere.

    Raises as `take_backup`.
    """
    taken = await take_backup(portable, Wanted(project_id, frozenset(manifest.left_out)), _Nowhere)
    return _list_differing(manifest, taken.manifest)


def _list_differing(one: Manifest, other: Manifest) -> list[str]:
    before: Mapping[str, object] = one.content()
    after: Mapping[str, object] = other.content()
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
