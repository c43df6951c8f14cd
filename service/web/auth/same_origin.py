"""Recognises requests that a page of this origin sent, as Go's `CrossOriginProtection` does.

A page on another port is the same site, so its requests carry the cookie, whatever the cookie's attributes are. These
headers are the browser's own, and no script can write them.
"""

from urllib.parse import urlsplit

from starlette.requests import Request

from service.web.auth.headers import headers_of

READS = ("GET", "HEAD")
HTTPS = "https"


def is_same_origin(request: Request) -> bool:
    """True if a page of the request's own origin sent it, or a person by the address bar.

    Without `Sec-Fetch-Site`, `Origin` must name the request's own `Host`; without both only GET and HEAD pass.
    """
    reads = request.method in READS
    if sites := headers_of(request, b"sec-fetch-site"):
        return sites == ["same-origin"] or (sites == ["none"] and reads)
    if origins := headers_of(request, b"origin"):
        return len(origins) == 1 and _names_host(request, origins[0])
    return reads


def speaks_https(request: Request, base_url: str) -> bool:
    """True if the page of a sign-in was loaded over https, as its `Origin` says; `X-Forwarded-Proto` is not believed.

    The origin must be that of the request's `Host`, or of BASE_URL, for a proxy may rewrite `Host`.
    """
    origins = headers_of(request, b"origin")
    if len(origins) != 1 or urlsplit(origins[0]).scheme != HTTPS:
        return False
    return _names_host(request, origins[0]) or origins[0] == "/".join(base_url.split("/")[:3])


def has_foreign_https(request: Request, base_url: str) -> bool:
    """True if `Origin` is an https origin that is not this service's."""
    origins = headers_of(request, b"origin")
    return any(each.startswith(f"{HTTPS}:") for each in origins) and not speaks_https(request, base_url)


def _names_host(request: Request, origin: str) -> bool:
    hosts = headers_of(request, b"host")
    try:
        return len(hosts) == 1 and bool(hosts[0]) and urlsplit(origin).netloc.lower() == hosts[0].lower()
    except ValueError:
        return False
