"""The rules by which a call is sent again, and the outcome that its error reports. It waits for nothing itself."""

from collections.abc import Callable
from dataclasses import dataclass
from secrets import SystemRandom

from auth_collections_client.calls import Repeat
from auth_collections_client.errors import RateLimitError, ServiceError, TransportError, UnavailableError

# Seconds: the first wait is drawn from 0 to this, each further one from twice as much, up to the longest.
FIRST_WAIT, LONGEST_WAIT = 0.25, 10.0
# Codes of 503 after which the service is known to have done nothing.
UNDONE = frozenset({"busy", "query_too_slow", "newer_data", "upload_lost"})
draw = SystemRandom().random


@dataclass(slots=True)
class Tries:
    """The attempts of one call. `most` counts the further attempts, `longest_wait` bounds a `Retry-After` in seconds."""

    repeat: Repeat
    is_write: bool
    most: int
    longest_wait: float
    done: int = 0
    is_unknown: bool = False
    random: Callable[[], float] = draw

    def wait_after(self, error: ServiceError, *, has_key: bool = False) -> float | None:
        """Returns the seconds until the next attempt, or None at the end; the error gets its outcome.

        Under a key a refusal proves that no earlier attempt was stored: its answer would have been replayed.
        """
        if self.is_write and leaves_doubt(error):
            self.is_unknown = True
        elif has_key and error.status < 500 and not isinstance(error, RateLimitError | TransportError):
            self.is_unknown = False
        error.outcome = "unknown" if self.is_unknown else "refused"
        if self.done >= self.most:
            return None
        spread = min(LONGEST_WAIT, FIRST_WAIT * 2**self.done)
        self.done += 1
        if isinstance(error, RateLimitError) or error.code == "busy":
            return self._asked_wait(error.retry_after or 0.0, spread)
        return self.random() * spread if may_help(error, self.repeat) else None

    def _asked_wait(self, seconds: float, spread: float) -> float | None:
        """Returns the wait that the service asks for, spread so that clients do not come back together."""
        return None if seconds > self.longest_wait else seconds + self.random() * max(spread, seconds / 2)


def leaves_doubt(error: ServiceError) -> bool:
    """True where a write that ended so may have happened."""
    if isinstance(error, TransportError):
        return error.was_sent and not 300 <= error.status < 500
    return isinstance(error, UnavailableError) and error.code not in UNDONE


def may_help(error: ServiceError, repeat: Repeat) -> bool:
    """True where another attempt may succeed and does no harm."""
    if isinstance(error, TransportError):
        is_lasting = error.code == "aborted" or 300 <= error.status < 500
        return not is_lasting and (repeat != "once" or not error.was_sent)
    return repeat != "once" and (error.status in {502, 504} or error.code in {"unavailable", "upload_lost"})
