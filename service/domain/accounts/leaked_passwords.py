"""Leaked passwords, as a range service knows them: it learns five digits of a hash, and never the password.

The protocol is that of Pwned Passwords (https://haveibeenpwned.com/API/v3#PwnedPasswords).
"""

import asyncio
import hashlib
from functools import partial

import structlog

from service.bounds import MAX_RANGE_BYTES
from service.domain.cache import Cache
from service.domain.projects.settings import ProjectSettings
from service.errors import Invalid
from service.observe.metrics import RANGE_QUESTIONS
from service.outbound.fetching import FetchFailed, Outbound

log = structlog.get_logger()

PREFIX = 5
TOTAL_SECONDS = 1.5
KEPT_SECONDS = 3_600
# Padding has every answer look alike in length; its lines have the count 0.
HEADERS = {"accept": "text/plain", "add-padding": "true"}
LEAKED = "This password is in a published leak; choose another"


class LeakedPasswords:
    """Asks the range service at `url`, a prefix that ends with a slash. Its answers are kept for an hour."""

    def __init__(self, url: str, outbound: Outbound) -> None:
        self.url = url
        self._outbound = outbound
        self._ranges: Cache[bytes] = Cache(MAX_RANGE_BYTES, KEPT_SECONDS, len)

    async def refuse(self, password: str, settings: ProjectSettings) -> None:
        """Raises Invalid for a leaked password, where the project has them checked and the service answers."""
        if settings.refuses_leaked and await self._is_leaked(password):
            raise Invalid.one(("body", "password"), LEAKED, type_="password_leaked")

    async def _is_leaked(self, password: str) -> bool:
        digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        prefix, suffix = digest[:PREFIX], digest[PREFIX:]
        try:
            found = await self._ranges.get_or_load(prefix, partial(self._ask, prefix))
        except FetchFailed as error:
            RANGE_QUESTIONS.labels("failed").inc()
            log.warning("leaked passwords cannot be asked", reason=str(error))
            return False
        return _count(found, suffix.encode()) > 0

    async def _ask(self, prefix: str) -> bytes:
        deadline = asyncio.get_running_loop().time() + TOTAL_SECONDS
        answer = await self._outbound.get_bytes(self.url + prefix, deadline=deadline, headers=HEADERS)
        RANGE_QUESTIONS.labels("answered").inc()
        return b"\n" + answer.upper()


def _count(found: bytes, suffix: bytes) -> int:
    """The number behind the suffix in lines of `SUFFIX:count`; 0 without such a line, or without a number."""
    _, line, rest = found.partition(b"\n" + suffix + b":")
    number = rest.partition(b"\n")[0].strip()
    return int(number) if line and number.isdigit() and len(number) < 20 else 0
