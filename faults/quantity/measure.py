"""The cost of one request for others: latency of another project, of the loop, MongoDB's CPU, the worker's memory."""

import http.client
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from pymongo import MongoClient

from faults.quantity.inputs import Input
from faults.quantity.site import JSON, TIMEOUT, Answer, Site, ask

PAUSE_SECONDS = 0.002
# Seconds to go on watching, so that work a request leaves behind on the loop or in MongoDB is seen too.
AFTER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds and bytes. `other` and `write` are another project's slowest read and write, `loop` the slowest answer
    that needs no MongoDB."""

    status: int
    seconds: float
    other: float
    write: float
    loop: float
    mongodb: float
    memory: int
    answer: bytes = b""

    @property
    def wait(self) -> float:
        """The longest latency of another project."""
        return max(self.other, self.write)

    def __str__(self) -> str:
        return (
            f"loop {self.loop:.0f} ms, others read {self.other:.0f} ms, write {self.write:.0f} ms, "
            f"MongoDB {self.mongodb:.0f} ms, memory +{self.memory / 2**20:.0f} MB"
        )


@dataclass(slots=True)
class Watch:
    """Asks the same again and again on one connection, and keeps the slowest answer."""

    port: int
    path: str
    headers: dict[str, str]
    body: bytes = b""
    times: list[float] = field(default_factory=list)
    failures: int = 0
    _ended: Event = field(default_factory=Event)

    @contextmanager
    def running(self) -> Iterator["Watch"]:
        thread = Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join(TIMEOUT)

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        while not self._ended.wait(PAUSE_SECONDS):
            started = time.perf_counter()
            try:
                connection.request("PUT" if self.body else "GET", self.path, self.body or None, self.headers)
                response = connection.getresponse()
                response.read()
                self.failures += response.status != http.client.OK
            except OSError:
                self.failures += 1
                connection.close()
            self.times.append((time.perf_counter() - started) * 1000)
        connection.close()

    def slowest(self) -> float:
        """The slowest answer since the last call, in milliseconds."""
        times, self.times = self.times, []
        return max(times, default=0.0)


@dataclass(frozen=True, slots=True)
class Gauge:
    """The watches, and the processes whose CPU and memory are read."""

    site: Site
    other: Watch
    write: Watch
    loop: Watch
    mongod: int

    def measure(self, request: Input) -> Cost:
        (worker,) = self.site.service.workers()
        Path(f"/proc/{worker}/clear_refs").write_text("5")
        for watch in (self.other, self.write, self.loop):
            watch.slowest()
        memory, cpu, started = peak(worker), cpu_seconds(self.mongod), time.perf_counter()
        answer = self._send(request)
        seconds = time.perf_counter() - started
        time.sleep(AFTER_SECONDS)
        mongodb = (cpu_seconds(self.mongod) - cpu) * 1000
        grown = max(0, peak(worker) - memory)
        other, write, loop = (watch.slowest() for watch in (self.other, self.write, self.loop))
        return Cost(answer.status, seconds, other, write, loop, mongodb, grown, answer.body[:300])

    def _send(self, request: Input) -> Answer:
        try:
            return ask(self.site.service.port, request.method, request.path, headers=request.headers, body=request.body)
        except OSError as error:
            return Answer(0, repr(error).encode())


@contextmanager
def gauging(site: Site, mongod: int) -> Iterator[Gauge]:
    """Watches a profile of the other project that is read, one that is changed, and /health/live."""
    profile = "/auth-collections/user"
    other = Watch(site.service.port, profile, site.other.token)
    write = Watch(site.service.port, profile, site.other.token | JSON, body=b'{"seen": 1}')
    loop = Watch(site.service.port, "/health/live", {})
    with other.running(), write.running(), loop.running():
        yield Gauge(site, other, write, loop, mongod)


def mongod_of(uri: str) -> int:
    with MongoClient[dict[str, object]](uri) as client:
        return int(client.admin.command("serverStatus")["pid"])


def peak(pid: int) -> int:
    """The most bytes that were resident since clear_refs was last written (proc(5), VmHWM)."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024


def cpu_seconds(pid: int) -> float:
    """Time on a CPU so far, of threads that ended too, to a hundredth of a second (proc(5), /proc/pid/stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
