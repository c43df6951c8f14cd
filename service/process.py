"""Limits of this process that it sets for itself: its open files, and the work of Python's garbage collector."""

import gc
import resource

# The assumed limit on systems that give none.
UNLIMITED = 1_048_576


def raise_file_limit() -> int:
    """Raises the soft limit of open files and sockets to the hard one, for this process and its children.

    Returns the limit in force (getrlimit(2), RLIMIT_NOFILE).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    if soft not in {wanted, resource.RLIM_INFINITY}:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            # macOS has a lower bound of its own that no limit names.
            return soft
    return wanted


def turn_on_collector() -> None:
    """Turns Python's collector on, which `service.__main__` turned off; the objects made until now are left out of it.

    A command and an application call it after their imports. Collections cost a third of the CPU of an import. Later, a
    collection of all modules would stop the event loop of a worker for 60 ms.
    """
    gc.freeze()
    gc.enable()
