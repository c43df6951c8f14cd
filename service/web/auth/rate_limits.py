"""Headers of limits: the RateLimit fields of draft-ietf-httpapi-ratelimit-headers-11."""

from collections.abc import Sequence
from functools import lru_cache

from service.domain.limits.limiter import Quota
from service.domain.limits.policies import Policy


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
