"""How files are named: `<project id>-<128 random bits>.<extension>`, never reused, and `{storage_url}/files/<name>`."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

from service.domain.files.types import FILE_TYPES

RANDOM_BYTES = 16
# Project ids may hold hyphens; the random part never does, so the last hyphen is where it begins.
_NAME = rf"([a-z0-9-]{{1,40}})-[0-9a-f]{{{2 * RANDOM_BYTES}}}\.(?:{'|'.join(FILE_TYPES)})"
NAME = re.compile(_NAME)
# Whatever the address of the storage was when the value was written; that a file is one's own is never read of its URL.
URL = re.compile(rf"https?://[^\s?#]+/files/({_NAME})")


def new_file_name(project_id: str, extension: str) -> str:
    return f"{project_id}-{secrets.token_hex(RANDOM_BYTES)}.{extension}"


def project_of(name: str) -> str | None:
    """`demo-<32 hex digits>.png` → `demo`; None for what cannot be the name of a file of ours."""
    found = NAME.fullmatch(name)
    return found.group(1) if found else None


def file_url(storage_url: str, name: str) -> str:
    return f"{storage_url}/files/{name}"


def named_file(value: Any) -> str | None:
    """The name of the file that `value` is the URL of, or None. It need not exist, nor be anyone's own."""
    found = URL.fullmatch(value) if isinstance(value, str) else None
    return found.group(1) if found else None


def dropped_files(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, str]:
    """Field → name of the files that `data` named in a field that changes, and names in no field afterwards."""
    kept = {named_file(value) for value in {**before, **changes}.values()}
    return {
        changed: name
        for changed in changes
        if (name := named_file(before.get(changed))) is not None and name not in kept
    }
