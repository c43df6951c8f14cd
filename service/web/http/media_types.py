"""The media type of a request's body."""

from starlette.requests import Request


def read_media_type(request: Request, default: str = "") -> str:
    """The type of `Content-Type` in lower case, without its parameters; `default` without the header."""
    return request.headers.get("content-type", default).partition(";")[0].strip().lower()
