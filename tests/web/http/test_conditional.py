"""Conditional and range requests by the tables of RFC 9110, and file names in headers by RFC 6266."""

import time

import pytest

from service.web.http.conditional import ByteRange, ConditionalResult, NotModified, NotSatisfiable, Whole, answer
from service.web.http.disposition import content_disposition

ETAG = '"abc"'

RANGES: list[tuple[str, str, ConditionalResult]] = [
    ("one range", "bytes=0-499", ByteRange(0, 500)),
    ("one byte", "bytes=0-0", ByteRange(0, 1)),
    ("the last byte", "bytes=999-999", ByteRange(999, 1000)),
    ("open", "bytes=500-", ByteRange(500, 1000)),
    ("suffix", "bytes=-100", ByteRange(900, 1000)),
    ("suffix longer than the file", "bytes=-5000", ByteRange(0, 1000)),
    ("end beyond the file", "bytes=900-5000", ByteRange(900, 1000)),
    ("spaces and capitals", "Bytes= 1-2 ", ByteRange(1, 3)),
    ("leading zeros", "bytes=0000000000000000000000001-2", ByteRange(1, 3)),
    ("a huge end", "bytes=0-" + "9" * 7000, ByteRange(0, 1000)),
    ("a huge start", "bytes=" + "9" * 7000 + "-", NotSatisfiable()),
    ("start at the end", "bytes=1000-", NotSatisfiable()),
    ("beyond the end", "bytes=5000-6000", NotSatisfiable()),
    ("an empty suffix", "bytes=-0", NotSatisfiable()),
    ("reversed", "bytes=500-100", NotSatisfiable()),
    ("two ranges", "bytes=0-1,5-6", Whole()),
    ("thousands of ranges", "bytes=" + ",".join(["0-"] * 2000), Whole()),
    ("another unit", "items=0-5", Whole()),
    ("no numbers", "bytes=-", Whole()),
    ("no equals sign", "bytes 0-5", Whole()),
    ("words", "bytes=a-b", Whole()),
    ("a sign", "bytes=+1-2", Whole()),
    ("digits of another script", "bytes=\u0661-\u0662", Whole()),
    ("empty", "", Whole()),
]


@pytest.mark.parametrize(("field", "expected"), [row[1:] for row in RANGES], ids=[row[0] for row in RANGES])
def test_f9_range(field: str, expected: ConditionalResult) -> None:
    # The quickest of some: any of them may meet the garbage collector.
    assert min(seconds(field, expected) for _ in range(5)) < 0.005


def seconds(field: str, expected: ConditionalResult) -> float:
    """Seconds of this thread's own time."""
    started = time.thread_time()
    assert answer({"range": field}, etag=ETAG, length=1000) == expected
    return time.thread_time() - started


@pytest.mark.parametrize("field", ["bytes=0-", "bytes=0-0", "bytes=-1"])
def test_f9_no_range_of_nothing_can_be_satisfied(field: str) -> None:
    assert answer({"range": field}, etag=ETAG, length=0) == NotSatisfiable()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Whole()),
        ({"if-none-match": '"abc"'}, NotModified()),
        ({"if-none-match": 'W/"abc"'}, NotModified()),
        ({"if-none-match": '"x", W/"y" , "abc"'}, NotModified()),
        ({"if-none-match": "*"}, NotModified()),
        ({"if-none-match": '"x"'}, Whole()),
        ({"if-none-match": "abc"}, Whole()),
        ({"if-none-match": '"abc"', "range": "bytes=0-1"}, NotModified()),
        ({"if-none-match": '"x"', "range": "bytes=0-1"}, ByteRange(0, 2)),
        ({"if-range": '"abc"', "range": "bytes=0-1"}, ByteRange(0, 2)),
        ({"if-range": '"old"', "range": "bytes=0-1"}, Whole()),
        ({"if-range": 'W/"abc"', "range": "bytes=0-1"}, Whole()),
        ({"if-range": "Fri, 20 Nov 2026 10:00:00 GMT", "range": "bytes=5000-"}, Whole()),
    ],
    ids=str,
)
def test_conditional(headers: dict[str, str], expected: ConditionalResult) -> None:
    assert answer(headers, etag=ETAG, length=1000) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("resume.pdf", 'attachment; filename="resume.pdf"'),
        ("my resume.pdf", 'attachment; filename="my resume.pdf"'),
        ("Žofie €.pdf", "attachment; filename=\"_ofie _.pdf\"; filename*=UTF-8''%C5%BDofie%20%E2%82%AC.pdf"),
        ('a"b\\..pdf', 'attachment; filename="..pdf"'),
        ('say "hi".pdf', "attachment; filename=\"say _hi_.pdf\"; filename*=UTF-8''say%20%22hi%22.pdf"),
        ("100%.pdf", "attachment; filename=\"100_.pdf\"; filename*=UTF-8''100%25.pdf"),
        ("../../etc/x.pdf", 'attachment; filename="x.pdf"'),
        ("C:\\Users\\me\\x.pdf", 'attachment; filename="x.pdf"'),
        ("a\r\nSet-Cookie: b=c.pdf", 'attachment; filename="aSet-Cookie: b=c.pdf"'),
        ("fdp.\u202egnp.pdf", 'attachment; filename="fdp.gnp.pdf"'),
        ("\u200e\x07", 'attachment; filename="file"'),
        ("x" * 300 + ".pdf", f'attachment; filename="{"x" * 196}.pdf"'),
    ],
    ids=ascii,
)
def test_f3_content_disposition(name: str, expected: str) -> None:
    assert content_disposition(name, inline=False) == expected


def test_content_disposition_shows_inline() -> None:
    assert content_disposition("a.png", inline=True) == 'inline; filename="a.png"'
