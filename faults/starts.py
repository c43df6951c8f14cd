"""Starting the service's commands: each with an interpreter of its own, or, within `forking()`, in a fork of one that waits."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Self

ROOT = Path(__file__).parent.parent
RUN_SECONDS = 120.0
# Seconds a command has to stop on request, and seconds its own processes may live after it was killed.
STOP_SECONDS = 35.0
LEFT_SECONDS = 5.0
NOWHERE = subprocess.DEVNULL
# An open file, or a constant of subprocess.
Output = int | IO[Any]


class Reader:
    """Reads a pipe to its end in a thread of its own, and closes it.

    The children of a process can keep its pipes open after it; only this thread waits for them then.
    """

    def __init__(self, pipe: IO[str] | None) -> None:
        self._text: str | None = None if pipe else ""
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[str] | None) -> None:
        if pipe:
            with pipe:
                self._text = pipe.read()

    def text(self, timeout: float | None) -> str | None:
        """None where the end does not come in time."""
        self._thread.join(timeout)
        return self._text


class Forked:
    """A command in a fork of the zygote; of `subprocess.Popen` it has what is asked for here, with the same meaning."""

    def __init__(self, arguments: Sequence[str], reply: socket.socket, pipes: Sequence[int | None]) -> None:
        """`pipes` are the ends to read from of its stdout and its stderr."""
        self.args = [*arguments]
        self.returncode: int | None = None
        self._reply = reply
        self.pid = self._read_number(RUN_SECONDS)
        self.stdout: IO[str] | None
        self.stderr: IO[str] | None
        self.stdout, self.stderr = [None if pipe is None else os.fdopen(pipe, encoding="utf-8") for pipe in pipes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self.wait()

    def _close(self) -> None:
        for pipe in (self.stdout, self.stderr):
            if pipe:
                pipe.close()

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._read_number(timeout)
            self._reply.close()
        return self.returncode

    def _read_number(self, timeout: float | None) -> int:
        self._reply.settimeout(timeout)
        try:
            # Nothing comes where the zygote was killed.
            return int(self._reply.recv(32) or -signal.SIGKILL)
        except (TimeoutError, BlockingIOError):
            raise subprocess.TimeoutExpired(self.args, timeout or 0) from None

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it writes until it ends. One that takes longer is killed; the error has what it wrote until then."""
        readers = [Reader(pipe) for pipe in (self.stdout, self.stderr)]
        self.stdout = self.stderr = None
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired as late:
            self.kill()
            out, err = [reader.text(LEFT_SECONDS) for reader in readers]
            raise subprocess.TimeoutExpired(late.cmd, late.timeout, out, err) from None
        out, err = [reader.text(timeout) for reader in readers]
        if out is None or err is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0, out, err)
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[Any] | Forked


class Zygote:
    """The process of `faults.zygote`: begun with the first command, ended by `close` or with this process."""

    def __init__(self) -> None:
        self._begun = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def close(self) -> None:
        self._theirs.close()
        self._channel.close()
        if self._process:
            self._process.wait()

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], outputs: Sequence[Output]) -> Forked:
        """Returns when there is a process. `outputs` are its stdout and its stderr."""
        self._begin()
        request = {"arguments": [*arguments], "environment": {**environment}, "cwd": str(Path.cwd())}
        reply, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as opened:
            opened.enter_context(theirs)
            nothing = opened.enter_context(Path(os.devnull).open("r+")).fileno()
            ends = [_ends(output, nothing, opened) for output in outputs]
            descriptors = [nothing, *(end for _, end in ends), theirs.fileno()]
            socket.send_fds(self._channel, [json.dumps(request).encode()], descriptors)
        return Forked(arguments, reply, [pipe for pipe, _ in ends])

    def _begin(self) -> None:
        with self._begun:
            if self._process is None:
                command = [sys.executable, "-m", "faults.zygote", str(self._theirs.fileno())]
                self._process = subprocess.Popen(command, pass_fds=[self._theirs.fileno()], cwd=ROOT)  # noqa: S603
                self._theirs.close()


def _ends(output: Output, nothing: int, opened: ExitStack) -> tuple[int | None, int]:
    """Returns the descriptor to read output from, if a pipe was asked for, and the descriptor to write it to."""
    if output == subprocess.PIPE:
        ours, theirs = os.pipe()
        opened.callback(os.close, theirs)
        return ours, theirs
    return None, nothing if isinstance(output, int) else output.fileno()


_zygotes: list[Zygote] = []


@contextmanager
def forking() -> Iterator[None]:
    """Starts commands within the block as forks, if the platform has what that needs."""
    zygote = Zygote()
    _zygotes.append(zygote)
    try:
        yield
    finally:
        _zygotes.remove(zygote)
        zygote.close()


def start_command(
    arguments: Sequence[str], environment: Mapping[str, str], *, stdout: Output = NOWHERE, stderr: Output = NOWHERE
) -> Process:
    """Begins `auth-collections` with these arguments. Pipes are of text; nothing can be typed into it."""
    if _zygotes and sys.platform == "linux":
        return _zygotes[-1].start(arguments, environment, (stdout, stderr))
    command = [sys.executable, "-m", "service", *arguments]
    return subprocess.Popen(  # noqa: S603 - our own command
        command, env=environment, stdin=NOWHERE, stdout=stdout, stderr=stderr, encoding="utf-8"
    )


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Returns the output and exit status of `auth-collections`; raises TimeoutExpired after two minutes."""
    with start_command(arguments, environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=RUN_SECONDS)
        return subprocess.CompletedProcess(process.args, process.wait(), out, err)


def stop(process: Process) -> None:
    """Asks it to end where it still runs, and kills it where it does not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
