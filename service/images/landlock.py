"""Landlock: the kernel takes from a process all files, TCP ports and processes beside its own (landlock(7)).

The calls have no function in the C library. Their numbers are the same on every architecture.
"""

import ctypes
import os
import struct
import sys

CREATE_RULESET, RESTRICT_SELF = 444, 446
VERSION_FLAG = 1
PR_SET_NO_NEW_PRIVS = 38
# ABI → the number of its rights on files, of which each is a bit, and the fields of its ruleset.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
# Bits: bind and connect of TCP; abstract sockets and signals outside of the process and its children.
NET_RIGHTS, SCOPES = 0b11, 0b11
NET_SINCE, SCOPES_SINCE = 4, 6


def find_abi() -> int:
    """The version of Landlock; 0 where the system has none, or forbids it."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_library().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_FLAG)))


def confine() -> int:
    """Takes from this process for good what the kernel's version can take. Returns the version; 0 did nothing.

    Open descriptors stay. Raises OSError if the kernel refuses what it has offered.
    """
    if not (abi := find_abi()):
        return 0
    library, ruleset = _library(), make_ruleset(abi)
    # No rule follows, so nothing is allowed.
    found = _check(library.syscall(CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0))
    try:
        _check(library.prctl(PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))))
        _check(library.syscall(RESTRICT_SELF, found, 0))
    finally:
        os.close(found)
    return abi


def make_ruleset(abi: int) -> bytes:
    """The structure `landlock_ruleset_attr` with all rights that a version knows; a later version keeps those of 6."""
    fields = [(1 << RIGHTS[min(abi, max(RIGHTS))]) - 1]
    fields += [NET_RIGHTS] if abi >= NET_SINCE else []
    fields += [SCOPES] if abi >= SCOPES_SINCE else []
    return struct.pack(f"={len(fields)}Q", *fields)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(found: int) -> int:
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
