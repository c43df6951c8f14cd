"""Answers that a worker keeps, plain and packed with gzip, and that a client may have already (RFC 9110)."""

import re

from starlette.requests import Request
from starlette.responses import Response

from service.domain.contracts import Text
from service.web.http.conditional import matches

CODING = re.compile(r"[ \t]*(gzip|x-gzip|\*)[ \t]*(?:;[ \t]*q=([0-9.]+)[ \t]*)?", re.IGNORECASE)
# Clients may keep the answer, and ask each time whether it is still good.
HEADERS = {"cache-control": "private, no-cache", "vary": "x-api-key, Accept-Encoding"}


def answer_kept(request: Request, text: Text, headers: dict[str, str]) -> Response:
    """200 with the text, packed for a client that takes gzip; 304 for one that has it."""
    kept = {**HEADERS, "etag": text.etag}
    if matches(", ".join(request.headers.getlist("if-none-match")), text.etag):
        return Response(status_code=304, headers=kept)
    if takes_gzip(", ".join(request.headers.getlist("accept-encoding"))):
        return Response(text.packed, headers={**kept, **headers, "content-encoding": "gzip"})
    return Response(text.plain, headers={**kept, **headers})


def takes_gzip(field: str) -> bool:
    """True if an Accept-Encoding field takes gzip, by its name or by `*` (RFC 9110 section 12.5.3)."""
    found = [CODING.fullmatch(each) for each in field.split(",")]
    qualities = {each[1].lower(): each[2] for each in found if each is not None}
    quality = qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", "0")))
    return quality is None or bool(quality.strip("0."))
