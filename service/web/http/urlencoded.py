"""Forms as browsers send them without files."""

from urllib.parse import parse_qs

from starlette.requests import Request

from service.bounds import MAX_FORM_BYTES
from service.errors import Invalid, TooLarge, UnsupportedMedia
from service.web.http.media_types import read_media_type

URLENCODED = "application/x-www-form-urlencoded"
MAX_FIELDS = 10


async def read_urlencoded(request: Request) -> dict[str, str]:
    """The fields; of one that is there twice the last. Raises UnsupportedMedia, TooLarge, Invalid."""
    if read_media_type(request, URLENCODED) != URLENCODED:
        raise UnsupportedMedia(f"Send the form as Content-Type: {URLENCODED}")
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > MAX_FORM_BYTES:
            raise TooLarge(f"The body must have at most {MAX_FORM_BYTES} bytes")
    try:
        found = parse_qs(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid.one(("body",), "The form cannot be read") from None
    return {name: values[-1] for name, values in found.items()}
