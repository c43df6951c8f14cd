"""Parts that are asked for of a file: the header, the status, and what is sent."""

LENGTH = 600_000
RANGES: list[tuple[str, int, str | None]] = [
    ("bytes=0-9", 206, "bytes 0-9/600000"),
    ("bytes=261119-261121", 206, "bytes 261119-261121/600000"),
    ("bytes=599990-", 206, "bytes 599990-599999/600000"),
    ("bytes=-5", 206, "bytes 599995-599999/600000"),
    ("bytes=0-999999999999999999999999", 206, "bytes 0-599999/600000"),
    ("bytes=600000-", 416, "bytes */600000"),
    ("bytes=9-0", 416, "bytes */600000"),
    ("bytes=0-1,3-4", 200, None),
    ("lines=0-1", 200, None),
]
