"""The process that draws: it has imported what draws, and draws each image in a fork of itself, which ends with it.

So the bytes of one image can harm only the decoder of that fork, which has limits of its own. Asked on stdin: the
lengths of what is wanted and of the image (HEAD), the first in JSON, the other. It answers on stdout: how the fork
ended (ANSWER: 0, REFUSED, or as `subprocess` counts it), and so many bytes that it drew. It ends with its stdin.
"""

import json
import os
import resource
import struct
from typing import Any

HEAD, ANSWER = struct.Struct(">II"), struct.Struct(">hI")
STDIN, STDOUT = 0, 1
# Limits of a fork: bytes of address space, and seconds of CPU.
MEMORY_BYTES = 512 * 1024 * 1024
CPU_SECONDS = 10
# Requests come first. Nice levels are compared within a session, so this is to stay in that of the service.
NICE = 19
MAX_DRAWN_BYTES = 16 * 1024 * 1024
PIECE_BYTES = 65_536
# The fork has read all of the image and cannot decode it, or not within its memory.
REFUSED = 3


def main() -> None:
    """Answers requests until the pipe is closed."""
    # A group of its own: it is ended with its fork, and not by what ends the service from a terminal.
    os.setpgid(0, 0)
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import_decoders()
    while head := read(HEAD.size):
        wanted, length = HEAD.unpack(head)
        status, drawn = draw_in_fork(json.loads(read(wanted)), length)
        write(STDOUT, ANSWER.pack(status, len(drawn)) + drawn)


def import_decoders() -> None:
    """Imports all that a fork needs, for it can open no file. Pillow imports some of its modules when it first uses them."""
    from PIL import (
        GifImagePlugin,
        Image,
        ImageCms,
        ImageColor,
        ImagePalette,
        JpegImagePlugin,
        MpoImagePlugin,
        PngImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    from service.images import draw, landlock

    Image.preinit()
    _ = GifImagePlugin, ImageCms, JpegImagePlugin, PngImagePlugin, WebPImagePlugin
    _ = ImageColor, ImagePalette, MpoImagePlugin, TiffImagePlugin, draw, landlock


def draw_in_fork(wanted: dict[str, Any], length: int) -> tuple[int, bytes]:
    """Draws in a fork. Returns its exit status and the drawn image, from an image of `length` bytes."""
    source, target = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(source)
        draw_and_exit(wanted, length, target)
    os.close(target)
    drawn = bytearray()
    while len(drawn) <= MAX_DRAWN_BYTES and (piece := os.read(source, PIECE_BYTES)):
        drawn += piece
    # A fork that writes more ends with a broken pipe.
    os.close(source)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), bytes(drawn[:MAX_DRAWN_BYTES])


def draw_and_exit(wanted: dict[str, Any], length: int, target: int) -> None:
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        content, status = read(length), REFUSED
        close_doors()
        from service.images.draw import draw

        write(target, draw(content, wanted))
        status = 0
    finally:
        os._exit(status)


def close_doors() -> None:
    """From here on the kernel gives this process no file, no socket and no pipe beside those that it has (getrlimit(2)).

    A process that has CAP_SYS_RESOURCE, as root has, could raise the limit again. Landlock cannot be lifted; it also
    refuses calls that need no descriptor, such as `unlink` and `execve`.
    """
    from service.images.landlock import confine

    confine()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def read(length: int) -> bytes:
    """Reads so many bytes of stdin; empty at its end."""
    content = bytearray()
    while len(content) < length:
        piece = os.read(STDIN, min(length - len(content), 1024 * 1024))
        if not piece:
            return b""
        content += piece
    return bytes(content)


def write(target: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(target, view) :]
