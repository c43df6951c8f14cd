"""The limit of files and sockets this process may have open (getrlimit(2), RLIMIT_NOFILE)."""

import resource

# The assumed limit on systems that give none.
UNLIMITED = 1_048_576


def raise_file_limit() -> int:
    """Raises the soft limit to the hard one, for this process and its children; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    if soft not in {wanted, resource.RLIM_INFINITY}:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            # macOS has a lower bound of its own that no limit names.
            return soft
    return wanted
