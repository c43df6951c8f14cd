"""Workers that are killed with mails in their hands, and a mail server that is away for a while: none is lost.

`python -m faults mail [--kills 50] [--mails 400]`. Mails are queued while processes that send them are killed one after the
other; meanwhile the server is away, hangs, or answers 4xx. Fails where a mail does not arrive, or where more come twice than
there were kills. A lease is shorter here than in a service, which waits two minutes before it takes over a dead worker's mail.
"""

import asyncio
import logging
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Annotated

import structlog
import typer
from pydantic import SecretStr

from faults.commands import KEY, free_port
from faults.mail_server import Handed, mail_server
from faults.processes import make_key
from faults.waiting import waiting_for
from service.domain.mail_flows.outbox import Outbox, Timing
from service.domain.mail_flows.outgoing import read_routes
from service.domain.mail_flows.purposes import Purpose
from service.domain.projects.secrets import SecretBox
from service.embedded.mongod import embedded_mongodb
from service.services import Services, build_services
from service.settings import Settings
from service.storage.flows import FlowStore

PREFIX = "f_mail_"
BASE_URL = "http://service.test"
QUICK = Timing(lease=3.0, delivery=2.0, poll=0.05, first_retry=0.2, longest_retry=1.0, pause=0.3)
SENDERS = 3
SECONDS = 120.0


@dataclass
class Report:
    """The outcome of the mails; `times` counts the arrivals of each by its Message-ID."""

    mails: int = 0
    kills: int = 0
    outages: int = 0
    times: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def lost(self) -> int:
        return self.mails - len(self.times)

    @property
    def duplicates(self) -> int:
        return sum(self.times.values()) - len(self.times)

    def __str__(self) -> str:
        return (
            f"{self.mails} mails, {self.kills} kills, {self.outages} outages: {self.lost} lost, "
            f"{self.duplicates} came twice, in {self.seconds:.0f} s"
        )


def _settings(uri: str, prefix: str, secret_key: str = KEY) -> Settings:
    return Settings(
        mongodb_uri=SecretStr(uri),
        database_prefix=prefix,
        secret_key=SecretStr(secret_key),
        base_url=BASE_URL,
        log_level="error",
    )


def make_outbox(services: Services, settings: Settings) -> Outbox:
    routes = read_routes(None, "Shop <no-reply@shop.example>", BASE_URL)
    box = SecretBox(settings.secret)
    return Outbox(FlowStore(services.base.databases), services.base.projects, box, routes, timing=QUICK)


def send(uri: str, prefix: str, secret_key: str) -> None:
    """One process that sends, until it is killed."""

    async def run() -> None:
        settings = _settings(uri, prefix, secret_key)
        outbox = make_outbox(build_services(settings), settings)
        while True:
            await outbox.run()

    asyncio.run(run())


class Senders:
    """Some processes that send; who is killed is replaced."""

    def __init__(self, uri: str, prefix: str, secret_key: str) -> None:
        self._arguments = (uri, prefix, secret_key)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["faults.mail"])
        self._running: list[BaseProcess] = []

    def start(self) -> None:
        process = self._context.Process(target=send, args=self._arguments, daemon=True)
        process.start()
        self._running.append(process)

    def kill(self, number: int) -> None:
        process = self._running.pop(number % len(self._running))
        process.kill()
        process.join()

    def stop(self) -> None:
        while self._running:
            self.kill(0)


@dataclass
class Post:
    """A mail server at one port that can be away."""

    report: Report
    port: int
    opened: list[Handed] = field(default_factory=list)

    def count(self) -> None:
        """Counts the mails of all servers.

        Call it at the end: a closing server still takes the mail that is being sent to it.
        """
        self.report.times.update(message["Message-ID"] for handed in self.opened for message in handed.messages)

    async def run(self, chance: random.Random, done: Callable[[], bool]) -> None:
        """Open, then away, and so on; while it is open it hangs at first, or answers 4xx, or works."""
        while not done():
            async with mail_server(port=self.port) as (handed, _):
                self.opened.append(handed)
                handed.hangs = chance.random() < 0.2
                handed.refuses_recipients = ["451 later"] * chance.randrange(6)
                await asyncio.sleep(chance.uniform(0.2, 0.6))
                handed.hangs = False
                await asyncio.sleep(chance.uniform(0.5, 1.5))
            self.report.outages += 1
            await asyncio.sleep(chance.uniform(0.2, 1.0))


async def storm(settings: Settings, services: Services, project_id: str, *, mails: int, kills: int) -> Report:
    """Queues so many mails of the project, whose `SMTP_URL` is on this machine, among so many kills."""
    report, chance = Report(mails), random.Random(20_261_122)  # noqa: S311 - repeatable on purpose
    project = await services.base.admin.change(project_id, {"SMTP_URL": f"smtp://127.0.0.1:{(port := free_port())}"})
    secret_key = settings.secret_key.get_secret_value() if settings.secret_key else KEY
    senders = Senders(settings.database_uri, settings.database_prefix, secret_key)
    began, is_over = time.monotonic(), False
    flows = services.base.databases.system["flows"]
    post = Post(report, port)
    running = asyncio.create_task(post.run(chance, lambda: is_over))
    try:
        for _ in range(SENDERS):
            senders.start()
        for number in range(max(mails, kills)):
            if number < mails:
                await services.flows.open(project, Purpose("verify_email", f"a{number}@a.example", f"u{number}"))
            if number * kills // max(mails, kills) >= report.kills and report.kills < kills:
                await asyncio.sleep(chance.uniform(0.05, 0.4))
                await asyncio.to_thread(senders.kill, chance.randrange(SENDERS))
                report.kills += 1
                senders.start()
        left = {"project_id": project_id, "mail.status": {"$ne": "sent"}}
        async with waiting_for("all mails to be sent", SECONDS):
            while await flows.count_documents(left):  # noqa: ASYNC110 - MongoDB sends no event
                await asyncio.sleep(0.1)
    finally:
        is_over = True
        await asyncio.to_thread(senders.stop)
        await running
    post.count()
    report.seconds = time.monotonic() - began
    return report


def main(
    kills: Annotated[int, typer.Option(help="How often a process that sends is killed.", min=1)] = 50,
    mails: Annotated[int, typer.Option(help="How many mails.", min=1)] = 400,
) -> None:
    """Kill the processes that send mails, with the mail server away now and then, and count what arrives."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    report = asyncio.run(_run(kills, mails))
    typer.echo(report)
    if report.lost or report.duplicates > report.kills:
        raise typer.Exit(1)


async def _run(kills: int, mails: int) -> Report:
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        project_id, _ = await make_key(uri, PREFIX)
        settings = _settings(uri, PREFIX)
        services = build_services(settings)
        try:
            return await storm(settings, services, project_id, mails=mails, kills=kills)
        finally:
            await services.close()
