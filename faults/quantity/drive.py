"""Products of bounds, each driven from a process of its own, with what another project felt and what the worker kept."""

import asyncio
import multiprocessing
import os
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

from faults.quantity.measure import AFTER_SECONDS, Gauge, cpu_seconds, peak
from faults.quantity.products import BY_NAME, Product
from faults.quantity.site import Tenant

MIB = 2**20
ROUNDS = 2
# A round that takes longer is over.
ROUND_SECONDS = 120
# Longer than anything is remembered for a request: what is still there then is kept.
SETTLE_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Toll:
    """Milliseconds that others waited, CPU seconds of the worker and of MongoDB, resident bytes, MongoDB's open files.

    `kept` is what the worker has more than before, after all it remembers has expired; `peak` its most in all.
    """

    status: int
    other: float
    write: float
    loop: float
    worker: float
    mongodb: float
    peak: int
    kept: int
    files: int

    @property
    def wait(self) -> float:
        return max(self.other, self.write, self.loop)

    def __str__(self) -> str:
        return (
            f"loop {self.loop:.0f} ms, others read {self.other:.0f} ms, write {self.write:.0f} ms, "
            f"CPU {self.worker:.1f} s, MongoDB {self.mongodb:.1f} s and {self.files:+} files, "
            f"peak {self.peak / MIB:.0f} MiB, kept {self.kept / MIB:+.0f} MiB"
        )


def measure_product(product: Product, gauge: Gauge, tenant: Tenant, rounds: int = ROUNDS) -> Toll:
    """Measures the cost of `rounds` of a product. Its process ends before the memory is read."""
    (worker,) = gauge.site.service.workers()
    Path(f"/proc/{worker}/clear_refs").write_text("5")
    before, files = resident(worker), open_files(gauge.mongod)
    cpu, mongodb = cpu_seconds(worker), cpu_seconds(gauge.mongod)
    for watch in (gauge.other, gauge.write, gauge.loop):
        watch.slowest()
    status = _run_beside(product.name, gauge.site.service.port, tenant, rounds)
    time.sleep(AFTER_SECONDS)
    other, write, loop = (watch.slowest() for watch in (gauge.other, gauge.write, gauge.loop))
    cpu, mongodb = cpu_seconds(worker) - cpu, cpu_seconds(gauge.mongod) - mongodb
    most = peak(worker)
    time.sleep(SETTLE_SECONDS)
    kept, more_files = resident(worker) - before, open_files(gauge.mongod) - files
    return Toll(status, other, write, loop, cpu, mongodb, most, kept, more_files)


def _run_beside(name: str, port: int, tenant: Tenant, rounds: int) -> int:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, name, port, tenant, rounds))
    process.start()
    status = int(mine.recv()) if mine.poll(ROUND_SECONDS * rounds) else 0
    process.join(5)
    process.kill()
    return status


def _run(pipe: Pipe, name: str, port: int, tenant: Tenant, rounds: int) -> None:
    async def run() -> int:
        status = 0
        for _ in range(rounds):
            async with asyncio.timeout(ROUND_SECONDS):
                status = await BY_NAME[name].run(port, tenant)
        return status

    try:
        pipe.send(asyncio.run(run()))
    except TimeoutError:
        pipe.send(0)


def resident(pid: int) -> int:
    """Bytes (proc(5), statm)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names are enough
