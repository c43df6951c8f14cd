"""Workers whose event loop stands still: each is replaced, and the service answers again.

`python -m faults.standstill PORT WORKERS SECONDS` serves so that SIGUSR1 stops the event loop of a process, without its
other threads, for longer than SECONDS.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Annotated

import httpx2
import typer

from faults.commands import KEY, NO_TLS, free_port
from faults.processes import START_SECONDS, STOP_SECONDS, Service
from service.embedded.mongod import embedded_mongodb
from service.server.draining import DrainingServer
from service.server.run import serve_http
from service.settings import read_settings

PREFIX = "f_standstill_"
LOOK_SECONDS = 0.05
SERVES = "serves"
MARGIN_SECONDS = 60.0


def stand_still(*_: object) -> None:
    """Blocks the event loop: a signal handler runs in the loop's thread."""
    time.sleep(3_600)


@contextmanager
def serving(uri: str, folder: Path, *, workers: int, silent_seconds: float) -> Iterator[Service]:
    """A service whose workers SIGUSR1 makes stand still, and which replaces them after `silent_seconds`."""
    port, log = free_port(), folder / "standstill.log"
    environment = os.environ | {"MONGODB_URI": uri, "DATABASE_PREFIX": PREFIX, "SECRET_KEY": KEY, "DRAIN_SECONDS": "0"}
    command = [sys.executable, "-m", "faults.standstill", str(port), str(workers), str(silent_seconds)]
    with log.open("ab") as output, Popen(command, env=environment, stdout=output, stderr=output) as process:  # noqa: S603
        service = Service(process, port, log)
        try:
            await_workers(service, workers)
            yield service
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            finally:
                # Workers end with their parent.
                process.kill()


@dataclass
class Outcome:
    """`replaced` are the seconds from each standstill to the end of its process, `answered` those to the next answer."""

    replaced: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return f"replaced after {max(self.replaced):.1f} s at most, answered again after {max(self.answered):.1f} s"


def standstill(count: int, *, silent_seconds: float = 30.0, workers: int = 2) -> Outcome:
    """Stops all loops of a service so many times. Fails where one is not replaced."""
    outcome = Outcome()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as uri,
        serving(uri, Path(folder), workers=workers, silent_seconds=silent_seconds) as service,
    ):
        for _ in range(count):
            halt_all(service, outcome, silent_seconds + MARGIN_SECONDS)
    return outcome


def main(
    count: Annotated[int, typer.Option(help="How often all loops are stopped.", min=1)] = 3,
    seconds: Annotated[float, typer.Option(help="How long a worker may say nothing.", min=1)] = 30.0,
) -> None:
    """Stop the event loops of all workers, and await others in their place."""
    typer.echo(f"standstill: {standstill(count, silent_seconds=seconds)}")


def halt_all(service: Service, outcome: Outcome, within: float) -> None:
    started, halted = time.monotonic(), service.workers()
    for pid in halted:
        os.kill(pid, signal.SIGUSR1)
    while set(halted) & set(service.workers()):
        assert time.monotonic() - started < within, "a worker whose loop stands still was not replaced"
        time.sleep(LOOK_SECONDS)
    outcome.replaced.append(time.monotonic() - started)
    await_workers(service, len(halted))
    assert httpx2.get(f"{service.url}/health/ready", verify=NO_TLS, timeout=60).status_code == 200
    outcome.answered.append(time.monotonic() - started)


def report() -> None:
    """Writes the line of a process that accepts connections."""
    print(SERVES, os.getpid(), flush=True)  # noqa: T201 - the log of the service


def await_workers(service: Service, count: int) -> None:
    """Returns when `count` workers serve. A worker that is halted earlier has more time, as one that starts slowly."""
    deadline = time.monotonic() + START_SECONDS
    while not _serve(service, count):
        is_over = service.process.poll() is not None or time.monotonic() > deadline
        assert not is_over, f"not all workers serve: {service.log.read_text()[-2000:]}"
        time.sleep(LOOK_SECONDS)


def _serve(service: Service, count: int) -> bool:
    workers = service.workers() if service.process.poll() is None else []
    lines = set(service.log.read_text().splitlines())
    return len(workers) == count and all(f"{SERVES} {pid}" in lines for pid in workers)


# A worker is spawned, and so imports this module, too.
if __name__ in {"__main__", "__mp_main__"}:
    signal.signal(signal.SIGUSR1, stand_still)
    DrainingServer.announce = staticmethod(report)

if __name__ == "__main__":
    chosen_port, chosen_workers, chosen_seconds = sys.argv[1:]
    serve_http(
        read_settings(),
        host="127.0.0.1",
        port=int(chosen_port),
        workers=int(chosen_workers),
        announce=report,
        silent_seconds=float(chosen_seconds),
    )
