"""The cookie of an operator's session, which only /admin/v1 reads."""

from starlette.requests import Request
from starlette.responses import Response

from service.errors import CrossOrigin, HttpsRequired
from service.services import Services
from service.web.auth.headers import headers_of
from service.web.auth.local import is_from_here
from service.web.auth.same_origin import has_foreign_https, speaks_https

# Browsers take such a cookie from no other host, over https only, and for the whole site (RFC 6265bis section 4.1.3).
HOST_PREFIX = "__Host-"


async def name_cookie(services: Services) -> str:
    """The name over http. Cookies know no ports, so the deployment's id keeps two deployments on one host apart."""
    return f"console_{await services.operators.deployment_id()}"


async def list_cookies(request: Request, services: Services) -> list[tuple[str, str]]:
    """Names and values of the session's cookies: those with the prefix, and those without it."""
    plain = await name_cookie(services)
    pairs = (pair.partition("=") for line in headers_of(request, b"cookie") for pair in line.split(";"))
    named = ((name.strip(), value.strip()) for name, _, value in pairs)
    return [(name, value) for name, value in named if name in (plain, f"{HOST_PREFIX}{plain}")]


async def find_cookie(request: Request, services: Services) -> str | None:
    """The value of the one cookie; None where there is none, or more than one.

    One without the prefix counts only from this machine: from elsewhere another host may have set it.
    """
    found = await list_cookies(request, services)
    if len(found) != 1:
        return None
    ((name, value),) = found
    return value if name.startswith(HOST_PREFIX) or is_from_here(request, services.web.trusted_proxies) else None


def require_secure(request: Request, services: Services) -> None:
    """Raises HttpsRequired for a sign-in over http from another machine, CrossOrigin for one of another https origin."""
    base_url = services.operators.rules.base_url
    if has_foreign_https(request, base_url):
        raise CrossOrigin
    if not speaks_https(request, base_url) and not is_from_here(request, services.web.trusted_proxies):
        raise HttpsRequired


async def set_cookie(request: Request, response: Response, services: Services, value: str) -> None:
    """Gives the browser its session: a new one, in the form that its connection allows."""
    name, lifetime = await name_cookie(services), services.operators.rules.lifetime
    kept = [each for each, _ in await list_cookies(request, services)]
    is_secure = speaks_https(request, services.operators.rules.base_url) or kept == [f"{HOST_PREFIX}{name}"]
    chosen = f"{HOST_PREFIX}{name}" if is_secure else name
    for other in set(kept) - {chosen}:
        # Two cookies of the name would be refused.
        _set(response, other, "", 0)
    _set(response, chosen, value, lifetime)


async def clear_cookie(request: Request, response: Response, services: Services) -> None:
    for name, _ in await list_cookies(request, services):
        _set(response, name, "", 0)


def _set(response: Response, name: str, value: str, seconds: int) -> None:
    is_secure = name.startswith(HOST_PREFIX)
    response.set_cookie(name, value, max_age=seconds, path="/", secure=is_secure, httponly=True, samesite="strict")
