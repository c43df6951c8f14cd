"""Headers that carry credentials."""

from starlette.requests import Request

from service.errors import InvalidToken

BEARER = "bearer"


def bearer(request: Request) -> str:
    """The token of the one `Authorization` header (RFC 6750 section 2.1). Raises InvalidToken."""
    headers = headers_of(request, b"authorization")
    if len(headers) != 1:
        raise InvalidToken
    scheme, _, token = headers[0].partition(" ")
    if scheme.lower() != BEARER:
        raise InvalidToken
    return token.strip(" ")


def headers_of(request: Request, name: bytes) -> list[str]:
    """The values of each header line of that name, which is in lower case."""
    return [value.decode("latin-1") for key, value in request.scope["headers"] if key == name]
