"""The language that a browser asks for (RFC 9110 section 12.5.4)."""

from starlette.requests import Request

from service.mail.texts import LOCALE

MAX_HEADER = 200


def find_locale(request: Request) -> str | None:
    """The first of `Accept-Language`, as browsers write the one that people chose; None where there is none."""
    first = request.headers.get("accept-language", "")[:MAX_HEADER].partition(",")[0].partition(";")[0].strip()
    return first if LOCALE.fullmatch(first) else None
