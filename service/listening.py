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
# The classic BPF program `ret #0`: no packet passes.
DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)


def drop_new_connections(listener: socket.socket) -> None:
    """From now on the kernel drops the packets that would open connections, and keeps those that are open or queued.

    Closing a socket resets the connections in its queue, which clients already count as accepted. A client whose packet is
    dropped sends it again after a second: to the next process, or to be refused. Linux only (socket(7)); elsewhere
    nothing happens, and the queue is reset.
    """
    if sys.platform != "linux":
        return
    code = ctypes.create_string_buffer(DROP_ALL, len(DROP_ALL))
    # struct sock_fprog: the number of instructions, and where they are.
    program = struct.pack("HP", 1, ctypes.addressof(code))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
