"""The author of what is written now, which each write of a user or a document puts into its own command as `by`.

`by` is `<kind>:<id>:<number>`. The number differs from write to write, so that MongoDB's change stream names `by` as
changed in each of them: a write past the service is recognized by its absence.
"""

from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from random import randrange

from service.schema.json_schema import BY as BY

SYSTEM = "system:"
# A function, because most requests never need it. Background work is the service's own.
AUTHOR: ContextVar[Callable[[], str]] = ContextVar("author", default=lambda: SYSTEM)
# Another worker that writes the same record next begins with another number.
_numbers = count(randrange(1 << 24))  # noqa: S311 - not a secret


def write_author() -> str:
    """`by` of the write that is being made."""
    return f"{AUTHOR.get()()}:{next(_numbers):x}"
