"""Files are judged by name and content, however their bytes are cut into pieces."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from service.domain.files.content_checks import WORD_STREAM, BadContent
from service.domain.files.types import FILE_TYPES, extension

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><rect width="1" height="1"/></svg>'


def image(format_name: str) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(target, format_name)
    return target.getvalue()


def archive(*names: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name in names:
            made.writestr(name, b"<x/>" * 1000)
    return target.getvalue()


def ole(directory_name: bytes) -> bytes:
    return (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + b"\0" * 4096 + directory_name).ljust(8192, b"\0")


DOCX = archive("[Content_Types].xml", "_rels/.rels", "word/document.xml")
DOC = ole(WORD_STREAM)
GOOD: list[tuple[str, bytes]] = [
    ("jpg", image("JPEG")),
    ("jpeg", image("JPEG")),
    ("png", image("PNG")),
    ("gif", image("GIF")),
    ("webp", image("WEBP")),
    ("pdf", image("PDF")),
    ("svg", SVG),
    ("svg", b'<?xml version="1.0"?>\n<!-- drawn -->\n<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:g/></s:svg>\n'),
    ("svg", b"<svg><script>alert(1)</script></svg>"),
    ("svg", SVG.replace(b"<rect", b'<image href="data:image/png;base64,' + b"A" * 1_500_000 + b'=="/><rect')),
    ("docx", DOCX),
    ("doc", DOC),
]
BAD: list[tuple[str, str, bytes]] = [
    ("HTML as png", "png", b"<!DOCTYPE html><html><script>alert(1)</script></html>"),
    ("HTML as svg", "svg", b"<html><body/></html>"),
    ("a png as jpg", "jpg", image("PNG")),
    ("a jpg as png", "png", image("JPEG")),
    ("a wave file as webp", "webp", b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 64),
    ("two bytes of a png", "png", b"\x89P"),
    ("a zip without word/ as docx", "docx", archive("[Content_Types].xml", "xl/workbook.xml")),
    ("a zip without content types as docx", "docx", archive("word/document.xml")),
    ("a name only in the file's data", "docx", archive("a") + b"word/document.xml[Content_Types].xml"),
    ("half a docx", "docx", DOCX[: len(DOCX) // 2]),
    ("a docx behind something else", "docx", b"%PDF-1.4\n" + DOCX),
    ("an OLE file as docx", "docx", DOC),
    ("a docx as doc", "doc", DOCX),
    ("a workbook as doc", "doc", ole("Workbook\0".encode("utf-16-le"))),
    ("a Word directory entry at the wrong place", "doc", ole(b"x" + WORD_STREAM)),
    ("a pdf with something before it", "pdf", b"<script>%PDF-1.4"),
    ("an svg with DOCTYPE", "svg", b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x">' + SVG),
    ("an svg with an entity", "svg", b'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>'),
    ("an svg with an undeclared entity", "svg", b"<svg>&nbsp;</svg>"),
    ("an svg that ends early", "svg", SVG[:-3]),
    ("an svg with something behind it", "svg", SVG + b"<script/>"),
    ("an svg root in another namespace", "svg", b'<svg xmlns="urn:other"/>'),
    ("an svg in an unknown encoding", "svg", b'<?xml version="1.0" encoding="zlib"?>' + SVG),
    ("an svg nested too deeply", "svg", b"<svg>" + b"<g>" * 300 + b"</g>" * 300 + b"</svg>"),
    ("an svg of too many names", "svg", b"<svg>" + b"".join(b"<a%d/>" % n for n in range(5000)) + b"</svg>"),
    ("an svg of too many namespaces", "svg", b"<svg>" + b"".join(b'<g xmlns:a%d="u"/>' % n for n in range(5000))),
    ("an svg tag without an end", "svg", b"<svg a='" + b"x" * 3_000_000),
    ("an svg tag of too many attributes", "svg", b"<svg " + b"".join(b"a%d='' " % n for n in range(9000)) + b"/>"),
    ("an empty svg", "svg", b" "),
]


def judge(kind: str, content: bytes, size: int = 65_536) -> None:
    check = FILE_TYPES[kind].check()
    for start in range(0, len(content), size):
        check.feed(content[start : start + size])
    check.finish()


@pytest.mark.parametrize(("kind", "content"), GOOD, ids=[row[0] for row in GOOD])
@pytest.mark.parametrize("size", [1000, 65_536, 10_000_000])
def test_content_of_its_type_is_accepted(kind: str, content: bytes, size: int) -> None:
    judge(kind, content, size)


@pytest.mark.parametrize("kind", ["png", "webp", "svg", "docx", "doc"])
def test_content_may_come_byte_by_byte(kind: str) -> None:
    judge(kind, dict(GOOD[:7] + GOOD[10:])[kind], 1)


@pytest.mark.parametrize(("kind", "content"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
@pytest.mark.parametrize("size", [1000, 65_536])
def test_f4_other_content_is_refused(kind: str, content: bytes, size: int) -> None:
    with pytest.raises(BadContent):
        judge(kind, content, size)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.png", "png"),
        ("a.PNG", "png"),
        ("a.php.png", "png"),
        ("a.png.html", "html"),
        ("../../x.png", "png"),
        ("a.svg.", ""),
        ("noextension", ""),
        ("", ""),
        (".png", "png"),
        ("a.png ", "png "),
        ("a.png\x00", "png\x00"),
        ("gnp.\u202ejs", "\u202ejs"),
        ("a.p\u0144g", "p\u0144g"),
    ],
    ids=ascii,
)
def test_f3_the_last_extension_counts(name: str, expected: str) -> None:
    assert extension(name) == expected


@given(
    st.sampled_from(sorted(FILE_TYPES)),
    st.sampled_from([content for _, content in GOOD if len(content) < 20_000]),
    st.data(),
)
def test_f4_no_content_breaks_a_check(kind: str, content: bytes, data: st.DataObject) -> None:
    """Every fault of a file is a refusal, never another error."""
    at = data.draw(st.integers(0, len(content)))
    broken = content[:at] + data.draw(st.binary(max_size=40)) + content[at + data.draw(st.integers(0, 40)) :]
    with suppress(BadContent):
        judge(kind, broken)


def tags() -> Iterator[bytes]:
    yield b"<svg>"
    yield from (b"<g><path d='M0 0'/></g>" * 2_000 for _ in range(100))


def words() -> Iterator[bytes]:
    yield b"<svg><text>"
    yield from (b"some words " * 5_000 for _ in range(200))


def zeros() -> Iterator[bytes]:
    yield b"PK\x03\x04".ljust(64, b"\0")
    yield from (b"\0" * 65_536 for _ in range(150))


@pytest.mark.parametrize(("kind", "pieces"), [("svg", tags), ("svg", words), ("docx", zeros)])
def test_f7_a_check_keeps_little_of_a_long_file(kind: str, pieces: Callable[[], Iterator[bytes]]) -> None:
    check = FILE_TYPES[kind].check()
    tracemalloc.start()
    for piece in pieces():
        check.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
