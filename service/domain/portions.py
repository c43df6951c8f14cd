"""Items of a blocking iterator, such as one over a file, read in a thread and handed on in portions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


async def read_portions(
    items: Iterator[Item], size: Callable[[Item], int], *, most: int, most_bytes: int
) -> AsyncIterator[list[Item]]:
    """Up to `most` items at a time; fewer where `size`, in bytes, adds up to `most_bytes`: the last item may pass it."""
    while portion := await asyncio.to_thread(_take, items, size, most, most_bytes):
        yield portion


def _take(items: Iterator[Item], size: Callable[[Item], int], most: int, most_bytes: int) -> list[Item]:
    taken, total = list[Item](), 0
    for item in islice(items, most):
        taken.append(item)
        total += size(item)
        if total >= most_bytes:
            break
    return taken
