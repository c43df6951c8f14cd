"""The way out: every worker claims mails that are due and hands them to their SMTP servers, until each was taken or refused.

A claim is a lease: where a worker dies with a mail in its hands, another one sends it when the lease is over. So none is lost,
and at most one for each death comes twice, with the same Message-ID.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

import structlog

from service.bounds import MAX_DELIVERIES, MAX_HOST_DELIVERIES, MAX_KNOWN_MAIL_HOSTS
from service.domain.mail_flows.outgoing import Contents, MailRoutes, give_up_after, life_of, open_contents, write_mail
from service.domain.projects.lookup import Project, Projects
from service.domain.projects.secrets import SecretBox
from service.errors import ProjectNotFound, ServiceError
from service.mail.letters import write_message
from service.mail.servers import MailServer
from service.mail.smtp import DELIVERY_SECONDS, MailRefused, Postponed, deliver
from service.observe.metrics import MAILS
from service.schema.values import now
from service.storage.client import Document
from service.storage.flows import FAILED, KEPT, FlowStore

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. A lease is longer than a delivery; a mail is tried again after `first_retry`, then twice that, and so on."""

    lease: float = 120.0
    delivery: float = DELIVERY_SECONDS
    # A host is slow from a delivery on that takes longer, until its next one that does not.
    quick: float = 5.0
    poll: float = 1.0
    first_retry: float = 30.0
    longest_retry: float = 3_600.0
    pause: float = 30.0
    close: float = 2.0

    def retry_after(self, attempts: int) -> float:
        """After so many tries."""
        return min(self.first_retry * 2.0 ** min(attempts - 1, 20), self.longest_retry)


class Outbox:
    """The mails that this worker sends. Belongs to one event loop."""

    def __init__(
        self,
        store: FlowStore,
        projects: Projects,
        secret_box: SecretBox,
        routes: MailRoutes,
        *,
        timing: Timing = Timing(),
    ) -> None:
        self.routes = routes
        self._store = store
        self._projects = projects
        self._box = secret_box
        self._timing = timing
        self._woken = asyncio.Event()
        # Task → the host that it speaks to, and since when.
        self._under_way: dict[asyncio.Task[None], tuple[str, float]] = {}
        # Host → whether its last delivery was quick; the latest is the last.
        self._was_quick: dict[str, bool] = {}
        # Host → until when no further mail is offered to it.
        self._paused: dict[str, float] = {}

    def wake(self) -> None:
        """A mail was stored just now."""
        self._woken.set()

    async def run(self) -> None:
        """Starts the delivery of all due mails; then waits until there may be more. To be called again and again."""
        while await self._has_room() and await self._begin():
            pass
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.poll):
                await self._woken.wait()
        self._woken.clear()

    async def close(self) -> None:
        """Gives deliveries under way a moment to end."""
        if self._under_way:
            await asyncio.wait(list(self._under_way), timeout=self._timing.close)
        for task in list(self._under_way):
            task.cancel()

    async def _has_room(self) -> bool:
        while len(self._under_way) >= MAX_DELIVERIES:
            await asyncio.wait(list(self._under_way), return_when=asyncio.FIRST_COMPLETED)
        return True

    async def _begin(self) -> bool:
        """Claims a mail and starts its delivery; False if there is none."""
        moment = now()
        until = moment + timedelta(seconds=self._timing.lease)
        flow = await self._store.claim(moment, until, without=self._unavailable())
        if flow is None:
            return False
        task = asyncio.create_task(self._finish(flow), name="background: mail")
        self._under_way[task] = flow["mail"].get("host", ""), monotonic()
        task.add_done_callback(self._ended)
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        host, began = self._under_way.pop(task)
        self._was_quick.pop(host, None)
        self._was_quick[host] = monotonic() - began <= self._timing.quick
        if len(self._was_quick) > MAX_KNOWN_MAIL_HOSTS:
            del self._was_quick[next(iter(self._was_quick))]
        # One more of its host may begin.
        self._woken.set()

    def _unavailable(self) -> set[str]:
        """The hosts that are away, and those that have as many mails under way as each may: none waits for another.

        A host has half of its places until it was quick once. All slow hosts together have half of the places of the worker.
        """
        moment = monotonic()
        self._paused = {host: until for host, until in self._paused.items() if until > moment}
        hosts = [host for host, _ in self._under_way.values()]
        late = {host for host, began in self._under_way.values() if moment - began > self._timing.quick}
        slow = late | {host for host, was_quick in self._was_quick.items() if not was_quick}
        proven = self._was_quick.keys() - slow
        full = {host for host in hosts if hosts.count(host) >= MAX_HOST_DELIVERIES // (1 if host in proven else 2)}
        crowd = sum(host in slow for host in hosts) >= MAX_DELIVERIES // 2
        return full | self._paused.keys() | (slow if crowd else set())

    async def _finish(self, flow: Document) -> None:
        """One try. After any failure the mail is tried again at the end of the lease."""
        try:
            await self._try(flow)
        except ServiceError as error:
            log.warning("mail_unfinished", project=flow["project_id"], code=error.code)
        except Exception:
            log.exception("mail_unfinished", project=flow["project_id"])

    async def _try(self, flow: Document) -> None:
        try:
            project = await self._projects.by_id(flow["project_id"])
        except ProjectNotFound:
            await self._store.note_failed(flow["_id"], FAILED, flow["mail"]["attempts"])
            return
        server, contents = self.routes.server_of(project), open_contents(self._box, flow)
        if contents is None:
            await self._fail(flow, "its contents do not open")
        elif server is None:
            await self._store.note_failed(flow["_id"], KEPT, flow["mail"]["attempts"])
        else:
            await self._send(project, flow, contents, server)

    async def _send(self, project: Project, flow: Document, contents: Contents, server: MailServer) -> None:
        sender = self.routes.sender_of(project)
        message = write_message(
            write_mail(project, flow, contents),
            sender=sender,
            to=contents.to,
            message_id=f"<{flow['_id']}@{sender.domain}>",
            date=flow["created_at"],
        )
        try:
            await deliver(server, message, seconds=self._timing.delivery)
        except MailRefused as error:
            await self._fail(flow, str(error))
        except Postponed as error:
            await self._postpone(flow, error, server)
        else:
            await self._store.note_sent(flow["_id"], now() + life_of(flow["purpose"]))
            self._paused.pop(server.name, None)
            MAILS.labels("sent").inc()

    async def _fail(self, flow: Document, reason: str) -> None:
        await self._store.note_failed(flow["_id"], FAILED, flow["mail"]["attempts"])
        MAILS.labels("failed").inc()
        log.warning("mail_failed", project=flow["project_id"], kind=flow["mail"]["kind"], reason=reason)

    async def _postpone(self, flow: Document, error: Postponed, server: MailServer) -> None:
        mail, moment = flow["mail"], now()
        if error.is_away:
            self._paused[server.name] = monotonic() + self._timing.pause
        next_at = moment + timedelta(seconds=self._timing.retry_after(mail["attempts"]))
        if next_at > flow["created_at"] + give_up_after(flow["purpose"]):
            await self._fail(flow, str(error))
            return
        await self._store.postpone(flow["_id"], next_at, mail["attempts"])
        MAILS.labels("postponed").inc()
        log.warning("mail_postponed", project=flow["project_id"], host=server.name, reason=str(error))
