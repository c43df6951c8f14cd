"""The sources of an import, each with the function that takes the inventory of its inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.importing.records import Inventory

# Counts one loss: of which target and field, of which kind, and the value.
LoseOf = Callable[[str, str, str, str], None]


@dataclass(frozen=True, slots=True)
class ImportSource:
    """The call of an import: its inputs, and the options that a source reads.

    `lose` counts losses.
    """

    inputs: Sequence[Path]
    lose: LoseOf
    users: str = "users"
    collection: str | None = None
    mapping: Mapping[str, Any] = field(default_factory=dict)
    database: str | None = None
    hash_config: Path | None = None


class BadInput(ValueError):
    """An input that is none of the source's forms; the message names it."""


def take_inventory(source: str, asked: ImportSource) -> Inventory:
    """The content of the inputs of a source. Raises BadInput, OSError."""
    from service.importing.sources import firebase, lines, mongodump, pocketbase

    openers: Mapping[str, Callable[[ImportSource], Inventory]] = {
        "users": lines.open_users,
        "csv": lines.open_csv,
        "ndjson": lines.open_ndjson,
        "mongodump": mongodump.open_dump,
        "pocketbase": pocketbase.open_data,
        "firebase": firebase.open_firebase,
    }
    if source not in openers:
        raise BadInput(f"There is no source {source}; there are {', '.join(openers)}")
    return openers[source](asked)
