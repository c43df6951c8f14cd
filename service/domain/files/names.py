"""How files are named: `<project id>-<128 random bits>.<extension>`, never reused."""

import re
import secrets

from service.domain.files.types import FILE_TYPES

RANDOM_BYTES = 16
# Project ids may hold hyphens; the random part never does, so the last hyphen is where it begins.
_NAME = rf"([a-z0-9-]{{1,40}})-[0-9a-f]{{{2 * RANDOM_BYTES}}}\.(?:{'|'.join(FILE_TYPES)})"
NAME = re.compile(_NAME)


def new_file_name(project_id: str, extension: str) -> str:
    return f"{project_id}-{secrets.token_hex(RANDOM_BYTES)}.{extension}"


def project_of(name: str) -> str | None:
    """`demo-<32 hex digits>.png` → `demo`; None for what cannot be the name of a file of ours."""
    found = NAME.fullmatch(name)
    return found.group(1) if found else None
