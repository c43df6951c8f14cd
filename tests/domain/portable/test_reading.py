"""A file that is no whole backup of ours is refused, within bounds. Rows G5, G6 and G7."""

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import bson
import pytest

from service.bounds import MAX_BACKUP_DEPTH, MAX_BACKUP_RATIO
from service.domain.portable import packing
from service.domain.portable.archive import ArchiveWriter
from service.domain.portable.manifest import ClusterTime, Header, Manifest, write_text
from service.domain.portable.packing import pack, unpack
from service.domain.portable.reading import BackupFile
from service.domain.portable.verifying import check_content, check_maker
from service.errors import BackupDamaged, BackupForeign, BackupTooNew
from service.services import Services
from tests.domain.portable.site import opened, portable_of

MOMENT = datetime(2026, 11, 23, tzinfo=UTC)
USERS = b"".join(bson.encode({"_id": str(number), "data": {"name": "x" * 50}}) for number in range(20))
EVENTS = bson.encode({"_id": "1", "type": "login"})
Members = dict[str, bytes]


def made(users: bytes = USERS, documents: int = 20, *, project_id: str = "p", extra: Any = None) -> bytes:
    """A backup that was made by hand. `extra` writes members that the manifest lists."""
    sink = io.BytesIO()
    with ArchiveWriter(sink, MOMENT) as archive:
        archive.add("header.json", write_text(Header(created_at="2026-11-23T00:00:00.000Z")))
        archive.add("project.json", b"{}")
        with archive.records("p/events.bson.gz") as member:
            member.write(EVENTS, 1)
        with archive.records("p/users.bson.gz") as member:
            member.write(users, documents)
        if extra:
            extra(archive)
        archive.add("manifest.json", write_text(describe(archive, project_id)))
        archive.finish("0" * 64)
    return sink.getvalue()


def describe(archive: ArchiveWriter, project_id: str) -> Manifest:
    counts = {name[2:-8]: digest.documents or 0 for name, digest in archive.members.items() if name[-8:] == ".bson.gz"}
    return Manifest(
        project_id=project_id,
        at=ClusterTime(t=1, i=1),
        taken_at="2026-11-23T00:00:00.000Z",
        consistency="snapshot",
        service_version="0",
        project_version=1,
        mongodb_version="6.0.5",
        counts=counts,
        members=archive.members,
        left_out=[],
        warnings=[],
    )


def check(content: bytes) -> None:
    with opened(content) as backup:
        check_content(backup)


def refusal(content: bytes) -> str:
    with pytest.raises(BackupDamaged) as caught:
        check(content)
    return caught.value.detail


def rewritten(content: bytes, change: Callable[[Members], object], compression: int = zipfile.ZIP_STORED) -> bytes:
    """The backup with other members, and a right directory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members, comment = {name: archive.read(name) for name in archive.namelist()}, archive.comment
    change(members)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = comment
    return target.getvalue()


def with_entry(name: str, **fields: Any) -> bytes:
    """The backup with one entry more, as no writer of ours makes it."""
    target = io.BytesIO(made())
    with zipfile.ZipFile(target, "a") as archive:
        entry = zipfile.ZipInfo(name)
        for field, value in fields.items():
            setattr(entry, field, value)
        archive.writestr(entry, b"x")
    return target.getvalue()


def test_a_backup_that_is_whole_is_read() -> None:
    check(made())
    check(rewritten(made(), dict))


def test_g5_each_altered_byte_is_found() -> None:
    """Every byte of every member, and of the directory, but for fields that no reader uses."""
    content = made()
    unused = set(unused_bytes(content))
    for position in range(len(content)):
        if position not in unused:
            altered = content[:position] + bytes([content[position] ^ 0x41]) + content[position + 1 :]
            assert not is_good(altered), f"the altered byte {position} was not noticed"


def is_good(content: bytes) -> bool:
    try:
        check(content)
    except (BackupDamaged, BackupTooNew):
        return False
    return True


def unused_bytes(content: bytes) -> Iterator[int]:
    """Versions and times of each header, attributes of the directory, and the comment, which the maker's check reads."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    for entry in archive.infolist():
        start = entry.header_offset
        # The signature and the name of the local header are compared; checksum and lengths stand in the directory.
        yield from range(start + 4, start + 26)
        yield from range(start + 30 + len(entry.filename), start + 30 + len(entry.filename) + 20)
        end = start + 30 + len(entry.filename) + 20 + entry.compress_size
        yield from range(end, end + 24)
    position = archive.start_dir
    for entry in archive.infolist():
        for first, last in ((4, 16), (34, 42)):
            yield from range(position + first, position + last)
        last_lengths = range(position + 28, position + 34)
        position += 46 + len(entry.filename) + len(entry.extra) + len(entry.comment)
    # Nothing is behind the last name, however long it is said to be.
    yield from last_lengths
    # The numbers of disks, of entries, and the length of the directory.
    yield from range(position + 4, position + 16)
    yield from range(len(content) - len(archive.comment), len(content))


@pytest.mark.parametrize("kept", [0, 10, 100, 0.3, 0.6, 0.9, -1, -64])
def test_g5_a_cut_file_is_refused(kept: float) -> None:
    content = made()
    assert refusal(content[: int(kept * len(content))] if 0 < kept < 1 else content[: int(kept)])


def test_g5_members_swapped_between_two_backups_are_refused() -> None:
    other = made(USERS.replace(b"x", b"y"))
    with zipfile.ZipFile(io.BytesIO(other)) as archive:
        users = archive.read("p/users.bson.gz")
    swapped = rewritten(made(), lambda members: members.__setitem__("p/users.bson.gz", users))
    assert refusal(swapped) == "p/users.bson.gz is not what the manifest says"


def test_g5_an_edited_manifest_is_refused() -> None:
    def edit(members: Members) -> None:
        manifest = json.loads(members["manifest.json"])
        manifest["counts"]["users"] = 21
        members["manifest.json"] = json.dumps(manifest).encode()

    assert refusal(rewritten(made(), edit)) == "the counts of the manifest are not those of its members"


def test_g7_an_edit_that_fits_shows_another_maker(services: Services) -> None:
    with opened(made(project_id="other")) as backup:
        check_content(backup)
        with pytest.raises(BackupForeign):
            check_maker(portable_of(services), backup)


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "p/../x.bson.gz", "x", "p/a/b.bson.gz", "p/a.b.bson.gz", "p\\users.bson.gz", "p/é.bson.gz"],
)
def test_g6_names_that_no_backup_has_are_refused(name: str) -> None:
    assert "is no name of a member" in refusal(with_entry(name))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_g6_a_name_that_is_there_twice_is_refused() -> None:
    assert "is there twice" in refusal(with_entry("p/users.bson.gz"))


def test_g6_links_and_packed_entries_are_refused() -> None:
    assert "not stored" in refusal(with_entry("p/rules.bson.gz", external_attr=0o120777 << 16))
    assert "not stored" in refusal(rewritten(made(), dict, zipfile.ZIP_DEFLATED))


def test_g6_a_member_that_is_in_the_file_or_the_manifest_alone_is_refused() -> None:
    assert "not in both" in refusal(rewritten(made(), lambda members: members.update({"p/rules.bson.gz": pack(b"")})))
    assert "not in both" in refusal(rewritten(made(), lambda members: members.pop("p/events.bson.gz")))


@pytest.mark.parametrize("name", ["header.json", "manifest.json", "project.json"])
def test_g6_a_missing_text_is_refused(name: str) -> None:
    assert name in refusal(rewritten(made(), lambda members: members.pop(name)))


def test_g6_bytes_before_and_behind_the_archive_are_refused() -> None:
    assert refusal(b"x" * 100 + made())
    assert refusal(made() + b"x")


def test_g6_entries_that_lie_over_each_other_are_refused() -> None:
    content = made()
    entries = zipfile.ZipFile(io.BytesIO(content)).infolist()
    first, second = (struct.pack("<L", each.header_offset) for each in entries[2:4])
    start = zipfile.ZipFile(io.BytesIO(content)).start_dir
    directory = content[start:].replace(second, first, 1) if first != second else b""
    assert refusal(content[:start] + directory)


def test_g6_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb, read = gzip.compress(b"\0" * 20_000_000, 9), list[int]()

    def edit(members: Members) -> None:
        members["p/users.bson.gz"] = bomb

    content = rewritten(made(), edit)
    with opened(content) as backup:
        pieces = backup.read("p/users.bson.gz")
        with pytest.raises(BackupDamaged, match=f"more than {MAX_BACKUP_RATIO} times"):
            read.extend(map(len, pieces))
    assert sum(read) <= MAX_BACKUP_RATIO * len(bomb)


def deep(levels: int) -> bytes:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return bson.encode({"_id": "1", "data": value})


@pytest.mark.parametrize(
    ("users", "reason"),
    [
        (deep(MAX_BACKUP_DEPTH + 50), "nested deeper"),
        (deep(MAX_BACKUP_DEPTH), "nested deeper"),
        (struct.pack("<l", 20_000_000) + b"\0" * 100, "20000000 bytes"),
        (struct.pack("<l", -1) + b"\0" * 100, "4294967295 bytes"),
        (struct.pack("<l", 4) + b"\0" * 100, "4 bytes"),
        (bson.encode({"_id": "1"})[:-1], "end within a document"),
        (struct.pack("<l", 12) + b"\x99a\0\0\0\0\0\0"[:8], "no BSON"),
        (struct.pack("<l", 15) + b"\x02a\0\x02\0\0\0\xff\0\0\0", "no BSON"),
    ],
)
def test_g6_bytes_that_are_no_documents_are_refused(users: bytes, reason: str) -> None:
    assert reason in refusal(made(users, 1))


def test_a_document_at_the_greatest_depth_is_read() -> None:
    check(made(deep(MAX_BACKUP_DEPTH - 1), 1))


def test_a_wrong_number_of_documents_is_refused() -> None:
    assert "has 20 documents" in refusal(made(USERS, 19))


def test_a_newer_format_is_named() -> None:
    def edit(members: Members) -> None:
        members["header.json"] = json.dumps({"format": "auth-collections/backup", "format_version": 2}).encode()

    with pytest.raises(BackupTooNew, match="format 2"):
        check(rewritten(made(), edit))


@pytest.mark.parametrize("content", [b"", b"PK", b"hello" * 100, pack(b"x")], ids=["nothing", "PK", "text", "gzip"])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    assert refusal(content) == "the file is no ZIP, or not all of one"


@pytest.mark.parametrize(
    "data", [b"", b"a", b"a" * 16_000_000, bytes(range(256)) * 1_000], ids=["nothing", "one", "equal", "others"]
)
def test_what_is_packed_is_never_taken_for_a_bomb(data: bytes) -> None:
    packed = pack(data)
    assert b"".join(unpack(io.BytesIO(packed))) == data
    assert len(data) <= MAX_BACKUP_RATIO * len(packed)


def test_streams_behind_one_another_are_one() -> None:
    assert gzip.decompress(pack(b"a") + packing.store(b"b") + pack(b"")) == b"ab"


@pytest.mark.parametrize("data", [b"x", pack(b"abc")[:-1], pack(b"abc")[:12]], ids=["text", "cut", "half"])
def test_what_is_no_whole_gzip_raises(data: bytes) -> None:
    with pytest.raises((OSError, EOFError, zlib.error)):
        b"".join(unpack(io.BytesIO(data)))


def test_an_open_backup_closes_its_file() -> None:
    source = io.BytesIO(made())
    with BackupFile(source):
        pass
    assert source.closed
