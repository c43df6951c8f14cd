"""A query string of flags: `dry_run=true`, and nothing else."""

from collections.abc import Sequence

from starlette.requests import Request

from service.errors import Invalid
from service.query.parse import parse_pairs


def read_flags(request: Request, names: Sequence[str]) -> dict[str, bool]:
    """Each of `names`, false where it is not there. Raises Invalid for any other, and for what is neither true nor false."""
    flags = dict.fromkeys(names, False)
    for name, text in parse_pairs(request.scope["query_string"]):
        if name not in flags:
            msg = f"This endpoint takes only {' and '.join(names)}"
            raise Invalid.one(("query", name), msg, type_="extra_forbidden")
        if text not in {"true", "false"}:
            raise Invalid.one(("query", name), "Must be true or false", type_="bool_parsing")
        flags[name] = text == "true"
    return flags
