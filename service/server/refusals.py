"""Answers of the connection itself, to input that is no request for the application."""

REFUSALS = {
    400: (b"Bad Request", b'{"detail":"The request is not HTTP/1.1","code":"bad_request"}'),
    408: (b"Request Timeout", b'{"detail":"The request headers came too slowly","code":"request_timeout"}'),
    431: (b"Request Header Fields Too Large", b'{"detail":"The headers are too large","code":"headers_too_large"}'),
    503: (b"Service Unavailable", b'{"detail":"Too many connections; try again","code":"busy"}'),
}


def render_refusal(status: int) -> bytes:
    """A whole answer, after which the connection ends."""
    reason, body = REFUSALS[status]
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\n" % (status, reason)
    retry = b"retry-after: 1\r\n" if status == 503 else b""
    return head + retry + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body
