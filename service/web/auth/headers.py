"""Headers that carry credentials."""

import base64
from urllib.parse import unquote_plus

from starlette.requests import Request

from service.errors import InvalidApiKey, InvalidToken

BASIC, BEARER = "basic", "bearer"


def bearer(request: Request) -> str:
    """The token of the one `Authorization` header (RFC 6750 section 2.1). Raises InvalidToken."""
    headers = headers_of(request, b"authorization")
    if len(headers) != 1:
        raise InvalidToken
    scheme, _, token = headers[0].partition(" ")
    if scheme.lower() != BEARER:
        raise InvalidToken
    return token.strip(" ")


def basic(request: Request) -> tuple[str, str]:
    """The client id and secret of the one `Authorization` header (RFC 6749 section 2.3.1). Raises InvalidApiKey."""
    headers = headers_of(request, b"authorization")
    scheme, _, sent = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
    try:
        name, _, secret = base64.b64decode(sent.strip(" "), validate=True).decode().partition(":")
    except ValueError:
        raise InvalidApiKey from None
    if scheme.lower() != BASIC:
        raise InvalidApiKey
    return unquote_plus(name), unquote_plus(secret)


def headers_of(request: Request, name: bytes) -> list[str]:
    """The values of each header line of that name, which is in lower case."""
    return [value.decode("latin-1") for key, value in request.scope["headers"] if key == name]
