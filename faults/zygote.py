"""A process that has imported every command and becomes each in a fork of itself: `python -m faults.zygote CHANNEL`.

An interpreter with its imports costs most of what a short command costs. CHANNEL is the descriptor of a socket on which
`faults.starts` asks: a message is a command, with the descriptors of its stdin, stdout, stderr and of a reply socket. There
its pid is a line, and its exit status another when it has ended, as `subprocess` counts it.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import walk_packages
from typing import cast

import service.__main__
from service.cli.main import LazyCommand, app, main

LARGEST_REQUEST = 1_000_000
DESCRIPTORS = 4


@dataclass(frozen=True, slots=True)
class Start:
    """The parameters of a command; `descriptors` are its stdin, stdout and stderr, and the reply socket."""

    arguments: list[str]
    environment: dict[str, str]
    cwd: str
    descriptors: list[int] = field(default_factory=list)


def await_start(channel: socket.socket) -> Start:
    """Returns once for each command, in a process for it alone; exits when the channel is closed."""
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    _report(selector, key.fd, *key.data)
                elif start := _fork(selector, channel):
                    return start


def _fork(selector: selectors.BaseSelector, channel: socket.socket) -> Start | None:
    """Returns the command in the new process, None in this one."""
    message, descriptors, _, _ = socket.recv_fds(channel, LARGEST_REQUEST, DESCRIPTORS)
    if not message:
        sys.exit()
    pid = os.fork()
    if pid == 0:
        return Start(**json.loads(message), descriptors=descriptors)
    for descriptor in descriptors[:3]:
        os.close(descriptor)
    reply = socket.socket(fileno=descriptors[3])
    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, reply))
    _tell(reply, pid)
    return None


def _report(selector: selectors.BaseSelector, ended: int, pid: int, reply: socket.socket) -> None:
    selector.unregister(ended)
    os.close(ended)
    _tell(reply, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    reply.close()


def _tell(reply: socket.socket, number: int) -> None:
    """Sends a number; the receiver may have gone."""
    with suppress(OSError):
        reply.sendall(b"%d\n" % number)


def become(start: Start) -> None:
    """From here on this process is as `python -m service` is when its imports are done."""
    for place, descriptor in enumerate(start.descriptors[:3]):
        os.dup2(descriptor, place)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(start.cwd)
    os.environ.clear()
    os.environ.update(start.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    sys.argv = [str(service.__main__.__file__), *start.arguments]
    # Workers that are spawned import what is the main module here.
    sys.modules["__main__"] = service.__main__


def import_all() -> None:
    """The forks share the modules of the service, which a process of its own imports when a command needs them."""
    for module in walk_packages(service.__path__, "service."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for command in app.commands.values():
        cast(LazyCommand, command).load()
    # The collector need not look at them again, in any fork.
    gc.freeze()


def run(arguments: list[str]) -> None:
    """As the interpreter ends: a server in full, the others without taking apart in each fork what was imported once."""
    try:
        main()
    except SystemExit as end:
        if arguments[:1] == ["serve"] or not isinstance(end.code, int):
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


if __name__ == "__main__":
    # Ctrl-C is for whoever asks; when that ends, so does this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_all()
    with socket.socket(fileno=int(sys.argv[1])) as opened:
        begun = await_start(opened)
    become(begun)
    run(begun.arguments)
