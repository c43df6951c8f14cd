"""Changes to a good request. Each takes the draft and chance, and changes one thing."""

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

from tests.fuzz import odd
from tests.fuzz.drafts import Draft

Mutation = Callable[[Draft, random.Random], None]

OTHER_PLACE = {"x-api-key": "authorization", "authorization": "x-api-key"}
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND", "QUERY")
ESCAPES = (
    "%00",
    "%2e%2e",
    "%2F",
    "%5C",
    "%ff",
    "%C0%AF",
    "%ED%A0%80",
    "%",
    "%zz",
    "%25",
    "//",
    "/",
    "/../",
    ";a=b",
    "+",
)
HEADERS = {
    "range": ("bytes=0-0", "bytes=-1", "bytes=5-2", "bytes=0-,1-", "bytes=" + "9" * 99 + "-", "bytes=-0", "lines=1-2", "bytes"),
    "if-none-match": ("*", '"a"', 'W/"a"', '"', '"a", ' * 50),
    "if-match": ("*", '"a"'),
    "if-range": ('"a"', "*", "Wed, 21 Oct 2015 07:28:00 GMT"),
    "if-modified-since": ("Wed, 21 Oct 2015 07:28:00 GMT", "never"),
    "origin": ("https://app.example", "https://evil.example", "null", "*", "https://app.example.evil.example"),
    "access-control-request-method": ("PUT", "", "BREW"),
    "access-control-request-headers": ("x-api-key", "*", "a," * 500),
    "content-type": ("application/json", "text/plain", "", "application/json; charset=utf-16", "multipart/form-data",
                     "multipart/form-data; boundary=", "multipart/form-data; boundary=b; charset=undefined",
                     "application/x-www-form-urlencoded", "APPLICATION/JSON;charset=UTF-8", ";;;=", "a" * 5_000),
    "content-encoding": ("gzip", "identity", "br, gzip", ""),
    "accept": ("*/*", "text/html", "application/xml;q=bad"),
    "accept-encoding": ("gzip;q=0", "*;q=x"),
    "x-request-id": ("a" * 8, "a" * 65, "../..", "${jndi:x}"),
    "x-forwarded-for": ("127.0.0.1", "1.2.3.4, ::1", "no address", "," * 500),
    "forwarded": ("for=1.2.3.4", 'for="[::1]:80";host=evil.example', "for"),
    "x-forwarded-host": ("evil.example",),
    "x-http-method-override": ("DELETE",),
    "host": ("evil.example", "", "a:b:c"),
    "cookie": ("state=a; idp_state=b", "=;=", "a" * 5_000),
    "authorization": ("Basic YTpi", "Bearer", "Bearer a.b.c", "bearer  x", "Bearer eyJhbGciOiJub25lIn0.e30."),
    "x-api-key": ("", "ac_x_" + "0" * 32, "ac_" + "_" * 50, "\xe9"),
    "expect": ("100-continue", "200-maybe"),
    "upgrade": ("websocket",),
}  # fmt: skip


def path(draft: Draft, chance: random.Random) -> None:
    """An odd segment, or something odd somewhere."""
    if chance.random() < 0.6:
        segments = draft.path.split("/")
        segments[-1 if chance.random() < 0.7 else chance.randrange(1, len(segments))] = quote(
            odd.text(chance).encode("utf-8", "replace"), safe=""
        )
        draft.path = "/".join(segments)
    else:
        where = chance.randrange(1, len(draft.path) + 1)
        draft.path = draft.path[:where] + chance.choice(ESCAPES) + draft.path[where:]


def method(draft: Draft, chance: random.Random) -> None:
    draft.method = chance.choice(METHODS)


def query(draft: Draft, chance: random.Random) -> None:
    pairs = [odd.condition(chance) for _ in range(chance.choice((1, 1, 2, 3, 60)))]
    more = "&".join("=".join(quote_plus(side.encode("utf-8", "replace")) for side in pair) for pair in pairs)
    if chance.random() < 0.2:
        more = chance.choice(
            ("%", "%zz=1", "a=%ff", "=", "&&", "a", "limit=1;offset=2", "limit=1&limit=2", "?", "a[$ne]=1")
        )
    draft.query = f"{draft.query}&{more}" if draft.query and chance.random() < 0.5 else more


def header(draft: Draft, chance: random.Random) -> None:
    name = chance.choice(list(HEADERS))
    value = chance.choice(HEADERS[name]).encode("latin-1")
    if chance.random() < 0.15:
        value = bytes(byte for byte in odd.raw(chance, 60) if byte >= 0x20 and byte != 0x7F)
    if chance.random() < 0.6:
        draft.headers = [item for item in draft.headers if item[0] != name]
    draft.headers.append((name, value))


def credential(draft: Draft, chance: random.Random) -> None:
    """None, two, one that is cut or has a letter changed, or the one in another's place."""
    found = [item for item in draft.headers if item[0] in OTHER_PLACE and item[1]]
    if not found:
        return
    name, value = found[0]
    draft.headers.remove(found[0])
    where = chance.randrange(len(value))
    changed = value[:where] + bytes([chance.randrange(0x21, 0x7F)]) + value[where + 1 :]
    draft.headers[:0] = chance.choice(
        (
            [],
            [(name, value)] * 2,
            [(name, value[:where])],
            [(name, changed)],
            [(OTHER_PLACE[name], value)],
            [(name, value + b" x")],
        )
    )


def content(draft: Draft, chance: random.Random) -> None:
    """One node of the JSON becomes another value, goes, or gets a neighbour."""
    if draft.content is ... or chance.random() < 0.1:
        draft.content = odd.value(chance)
        return
    parents = [node for node in _nodes(draft.content) if node]
    if not parents:
        return
    parent = chance.choice(parents)
    key = chance.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    kind = chance.randrange(4)
    if kind == 0 and isinstance(parent, dict):
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[odd.name(chance)] = odd.value(chance)
    else:
        parent[key] = odd.value(chance)


def _nodes(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(node for inner in value.values() for node in _nodes(inner))]
    return [value, *(node for inner in value for node in _nodes(inner))] if isinstance(value, list) else []


def parts(draft: Draft, chance: random.Random) -> None:
    """A part more, twice the same, or one with another name, file name or content."""
    if not draft.parts:
        draft.parts = [("file", "a.png", b"x")]
    name, file_name, found = chance.choice(draft.parts)
    draft.parts.append(
        chance.choice(
            (
                (name, file_name, found),
                (odd.name(chance), file_name, found),
                (name + "2", odd.text(chance) + chance.choice(("", ".png", ".svg", ".exe")), found),
                (name + "2", file_name, odd.raw(chance, 3_000)),
                (name + "2", None, found),
            )
        )
    )


MUTATIONS: tuple[Mutation, ...] = (
    path,
    method,
    query,
    query,
    header,
    header,
    credential,
    content,
    content,
    content,
    parts,
)
