"""Counting a request, and how limits are told: the RateLimit fields of draft-ietf-httpapi-ratelimit-headers-11."""

from collections.abc import Sequence
from functools import lru_cache

from starlette.requests import Request

from service.domain.access.caller import AnonymousCaller, Caller
from service.domain.limits.limiter import Policy, Quota
from service.errors import LimitExceeded
from service.web.auth.authenticate import headers_of
from service.web.auth.client_address import client_address
from service.web.http.services import services


async def count_request(request: Request, caller: Caller, policy: Policy) -> None:
    """Counts a request of a project under `policy`, or what the policy has for those without a credential.

    Raises LimitExceeded, which names the limit, and Unavailable.
    """
    if policy.anonymous is not None and isinstance(caller, AnonymousCaller):
        policy = policy.anonymous
    state = request.scope["state"]
    address = _address(request) if policy.per_address else ""
    quotas = state["quotas"] = await services(request).limits.count(state["project"], policy, address)
    if quotas and (last := quotas[-1]).exceeded:
        detail = f"The limit of {last.limit} {last.policy.what} is reached"
        raise LimitExceeded(detail, headers={"retry-after": str(last.reset)})


def _address(request: Request) -> str:
    peer = request.scope.get("client")
    return client_address(
        peer[0] if peer else None,
        services(request).trusted_proxies,
        x_forwarded_for=headers_of(request, b"x-forwarded-for"),
        forwarded=headers_of(request, b"forwarded"),
    )


def rate_limit_fields(quotas: Sequence[Quota]) -> list[tuple[bytes, bytes]]:
    """The two response fields for what a request was counted under; none where it was under no limit.

    `RateLimit-Policy: "login";q=20;w=3600` and `RateLimit: "login";r=19;t=1800` (sections 3 and 4 of the draft): the
    quota, the window in seconds; what remains, and the seconds until there is more.
    """
    if not quotas:
        return []
    policies = b", ".join([_policy(quota.policy, quota.limit) for quota in quotas])
    states = ", ".join([f'"{quota.policy.name}";r={quota.remaining};t={quota.reset}' for quota in quotas])
    return [(b"ratelimit-policy", policies), (b"ratelimit", states.encode())]


@lru_cache(1_000)
def _policy(policy: Policy, limit: int) -> bytes:
    return f'"{policy.name}";q={limit};w={policy.seconds}'.encode()
