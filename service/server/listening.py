"""Closing a listening socket without resetting those who have just connected."""

import ctypes
import socket
import struct
import sys
from contextlib import suppress

# Long enough for the event loop to accept what the kernel has queued.
ACCEPT_SECONDS = 0.1

# SO_ATTACH_FILTER of Linux's asm-generic/socket.h, which Python does not name.
ATTACH_FILTER = 26
# A classic BPF program over the TCP header (RFC 9293 section 3.1): what has the SYN flag is dropped, the rest passes.
# Without the rest, a client whose handshake is under way would count as connected and then be reset.
DROP_SYN = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # ldb [13]: the flags
        (0x45, 0, 1, 0x02),  # jset #SYN, next, one further
        (0x06, 0, 0, 0),  # ret #0: drop
        (0x06, 0, 0, 0xFFFFFFFF),  # ret #-1: keep all of it
    )
)
INSTRUCTION_BYTES = struct.calcsize("HBBI")


def drop_new_connections(listener: socket.socket) -> None:
    """From now on the kernel drops the packets that would open connections; those that are open, queued or half open go on.

    Closing a socket resets the connections in its queue, which clients already count as accepted. A client whose packet is
    dropped sends it again after a second: to the next process, or to be refused. Linux only (socket(7)); elsewhere
    nothing happens, and the queue is reset.
    """
    if sys.platform != "linux":
        return
    code = ctypes.create_string_buffer(DROP_SYN, len(DROP_SYN))
    # struct sock_fprog: the number of instructions, and where they are.
    program = struct.pack("HP", len(DROP_SYN) // INSTRUCTION_BYTES, ctypes.addressof(code))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
