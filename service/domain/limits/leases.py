"""A worker's share of a limit: the requests it may let through without asking the database. No I/O."""

import asyncio

# Slices start at one and grow while they are spent quickly, so that a quiet worker holds next to nothing.
GROWTH = 4
MAX_SLICE = 1_000
# No worker that dies may take more than this part of a limit along.
MAX_PART = 10
QUICK_SECONDS = 5.0
# A worker that no longer spends its slice gives it back, so that others can.
IDLE_SECONDS = 2.0
# For this long a spent limit is refused from memory: another worker may yet give something back.
REFUSAL_SECONDS = 1.0


def next_size(size: int, spent_in: float, limit: int) -> int:
    """The size of the next slice under `limit`, after a slice of `size` lasted `spent_in` seconds."""
    wanted = size * GROWTH if spent_in < QUICK_SECONDS else size // 2
    return max(1, min(wanted, MAX_SLICE, limit // MAX_PART))


class Lease:
    """One worker's part of one limit in one window, which ends at `end` (seconds since the epoch).

    `left` may be spent; `free` is what the counter still held when it was last asked; `pending` is the asking under way.
    """

    __slots__ = ("end", "free", "key", "left", "pending", "refused_until", "size", "taken_at", "used_at")

    def __init__(self, key: str, end: int, now: float) -> None:
        self.key = key
        self.end = end
        self.left = 0
        self.free = 0
        self.size = 0
        self.taken_at = self.used_at = now
        self.refused_until = 0.0
        self.pending: asyncio.Task[None] | None = None

    def spend(self, now: float) -> bool:
        """Takes one of the rest, if there is one."""
        self.used_at = now
        if not self.left:
            return False
        self.left -= 1
        return True

    def spend_many(self, amount: int, now: float) -> int:
        """Takes up to `amount` of the rest; returns the number taken."""
        self.used_at = now
        spent = min(amount, self.left)
        self.left -= spent
        return spent

    def next_slice(self, now: float, limit: int) -> int:
        """The size to ask for in the next slice; the counter may grant less."""
        return next_size(self.size, now - self.taken_at, limit) if self.size else 1

    def receive(self, granted: int, *, wanted: int, free: int, now: float) -> None:
        """Adds a slice; nothing granted means that the limit is reached."""
        self.left += granted
        self.free = free
        self.size = wanted
        self.taken_at = now
        if not granted:
            self.refused_until = now + REFUSAL_SECONDS

    def is_idle(self, now: float) -> bool:
        """True if nothing was spent for a while, and no request waits for more."""
        return self.pending is None and (self.end <= now or now - self.used_at > IDLE_SECONDS)

    def release(self) -> int:
        """Empties the lease and returns its rest, which the caller must give back to the counter."""
        left, self.left = self.left, 0
        return left
