"""Threads for long computations, which give way to what answers requests."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

# A quarter of a CPU beside a fully busy service, so that they come to an end, and all idle CPU.
NICENESS = 5


def background_threads(number: int, name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number, name, initializer=_give_way)


def _give_way() -> None:
    """On Linux, where each thread has a priority of its own."""
    if sys.platform == "linux":
        os.nice(NICENESS)
