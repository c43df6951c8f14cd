"""A helper for ASGI programs, such as those of Starlette and FastAPI; it depends on neither."""

from collections.abc import Iterable, Mapping
from typing import cast


def bearer(headers: Mapping[str, str] | Iterable[tuple[bytes, bytes]]) -> str | None:
    """Returns the bearer token of a request's headers, or None where there is none, or more than one.

    Takes `request.headers` of Starlette, or the `headers` of an ASGI scope.
    """
    pairs = cast("Iterable[tuple[str | bytes, str | bytes]]", getattr(headers, "items", lambda: headers)())
    found = [_text(value) for name, value in pairs if _text(name).lower() == "authorization"]
    if len(found) != 1:
        return None
    scheme, _, token = found[0].strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
