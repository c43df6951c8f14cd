"""Writes a project's generated types: `python -m auth_collections_client.types --out schema.py`.

The address of the service and the secret key are read from AUTH_COLLECTIONS_URL and AUTH_COLLECTIONS_KEY.
"""

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auth_collections_client._sync.keeper import Keeper
from auth_collections_client._sync.transport import Transport
from auth_collections_client.calls import Call, Settings, present
from auth_collections_client.errors import ConfigurationError, ServiceError

URL, KEY = "AUTH_COLLECTIONS_URL", "AUTH_COLLECTIONS_KEY"
EMPTY = "Guests reach no collection, so the types have none. Use the secret key, with --view users for a page.\n"
EQUAL, DIFFERENT, FAILED = 0, 1, 2
# A statement begins with its name; continued lines are indented further, or close a bracket.
STATEMENT = re.compile(
    r"^(?: {4})?(?:export (?:interface|type) )?(\w+)(?: = TypedDict|: CollectionRef| \{| extends)", re.MULTILINE
)
# The line that ties a collection to its type, in each language.
NAMED = re.compile(
    r"""^ {2,4}"?(?P<one>[A-Za-z][A-Za-z0-9_-]*)"?: \{ data: (?P<type>\w+)"""
    r"""|^\w+Ref: CollectionRef\[(?P<kind>\w+), .* = CollectionRef\("(?P<two>[^"]+)"\)$""",
    re.MULTILINE,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the status: 0, 1 where `--check` finds a difference, 2 where it cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        if options.out is None and (options.check or options.json):
            raise ConfigurationError("--check and --json need --out FILE")
        text = _fetch(options.language, options.view)
        if os.environ[KEY].startswith("acp_") and not NAMED.search(text.decode()):
            sys.stderr.write(EMPTY)
        return _run(options, text)
    except (ConfigurationError, ServiceError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m auth_collections_client.types", description=__doc__)
    parser.add_argument("--language", choices=["python", "typescript"], default="python")
    parser.add_argument("--view", choices=["server", "users", "anyone"], help="the callers that the types are for")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write into a file, in one step")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if FILE differs")
    parser.add_argument("--json", action="store_true", help="print a report")
    return parser


def _fetch(language: str, view: str | None) -> bytes:
    missing = [name for name in (URL, KEY) if not os.environ.get(name)]
    if missing:
        raise ConfigurationError(f"Set {' and '.join(missing)} in the environment.")
    transport = Transport(Settings(os.environ[URL], os.environ[KEY]), None, Keeper())
    query = present({"language": language, "view": view})
    call = Call("GET", "/api/types", query, repeat="safe", is_write=False, credential="key")
    try:
        with transport.stream(call) as chunks:
            return b"".join(chunks)
    finally:
        transport.close()


def _run(options: argparse.Namespace, text: bytes) -> int:
    out: Path | None = options.out
    if out is None:
        sys.stdout.write(text.decode())
        return EQUAL
    differs = compare(text.decode(), out) if options.check else None
    if not options.check:
        _replace(out, text)
    if options.json:
        sys.stdout.write(f"{json.dumps(_report(options, text, differs))}\n")
    elif differs is not None:
        sys.stdout.write("\n".join([f"{out} differs", *differs, ""]))
    return EQUAL if differs is None else DIFFERENT


def _report(options: argparse.Namespace, text: bytes, differs: list[str] | None) -> dict[str, Any]:
    etag = f'"{hashlib.sha256(text).hexdigest()}"'
    view = {"view": options.view} if options.view else {}
    found = {"language": options.language, **view, "etag": etag, "bytes": len(text), "out": str(options.out)}
    return found | ({"equal": differs is None, "differs": differs or []} if options.check else {})


def compare(text: str, out: Path) -> list[str] | None:
    """Returns the collections whose types in the file differ, or None where all of the file is equal."""
    try:
        present = out.read_text()
    except FileNotFoundError:
        return sorted(_parts(text))
    if present == text:
        return None
    wanted, found = _parts(text), _parts(present)
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def _parts(text: str) -> dict[str, list[str]]:
    """Returns for each collection the statements that are its types."""
    starts = [*STATEMENT.finditer(text)]
    ends = [*[each.start() for each in starts[1:]], len(text)]
    statements = [(each[1], text[each.start() : end].strip()) for each, end in zip(starts, ends, strict=True)]
    named = {each["one"] or each["two"]: each["type"] or each["kind"] for each in NAMED.finditer(text)}
    return {name: [body for made, body in statements if _is_of(made, kind)] for name, kind in named.items()}


def _is_of(made: str, kind: str) -> bool:
    own = {f"{before}{kind}{after}" for before in ("", "New") for after in ("", "Where", "Keys", "Ref")}
    return made in own or made.startswith((f"{kind}_", f"New{kind}_"))


def _replace(out: Path, text: bytes) -> None:
    """Writes beside the file and renames: a reader sees the old text or the new one."""
    part = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        part.write_bytes(text)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
