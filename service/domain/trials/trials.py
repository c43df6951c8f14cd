"""Trying a project's mail server and its identity providers, for the people who configure them.

A project has few trials under way, each takes 10 seconds at most, and no answer repeats what the peer sent but the last
line of a mail server. A failure at an address of a private network is reported without its reason, so that a trial
maps no network.
"""

import asyncio
from dataclasses import replace
from email.headerregistry import Address
from html import escape
from ipaddress import ip_address
from socket import gaierror
from urllib.parse import urlsplit

from service.bounds import MAX_TRIALS
from service.domain.accounts.emails import normalize_email
from service.domain.limits.limiter import Limits
from service.domain.limits.policies import MAIL_TESTS
from service.domain.mail_flows.outgoing import MailRoutes
from service.domain.projects.lookup import Project
from service.domain.shares import Shares
from service.domain.sign_in.registration import ProviderClients
from service.errors import ConfigurationMissing, Invalid
from service.mail.letters import Letter, write_message
from service.mail.servers import MailServer
from service.mail.trial import CONNECT, try_server
from service.outbound.fetching import Outbound
from service.providers.registration import Endpoints
from service.providers.trial import ENDPOINTS, try_provider
from service.schema.outcomes import Trial
from service.schema.values import now
from service.storage.ids import new_id

SECONDS = 10.0
RESOLVE_SECONDS = 2.0
NOT_ALLOWED = "not allowed"
SUBJECT = "A test mail"
TEXT = "This mail was sent to try the mail server of the project {name}. Nothing needs to be done."


class Trials:
    """The trials of this worker."""

    def __init__(self, clients: ProviderClients, routes: MailRoutes, limits: Limits, outbound: Outbound) -> None:
        self._clients = clients
        self._routes = routes
        self._limits = limits
        self._outbound = outbound
        self._shares = Shares(MAX_TRIALS)

    async def check_provider(self, project: Project, provider: str | None) -> Trial:
        """Tries a provider as a sign-in would use it. Raises ProviderNotFound, Busy."""
        async with self._shares.take(project.id):
            try:
                registration = self._clients.find(project, provider)
            except ConfigurationMissing as error:
                trial = Trial()
                trial.failed(ENDPOINTS, error.detail)
                return trial
            trial = await try_provider(self._outbound, registration)
            where = registration.provider
            url = where.token if isinstance(where, Endpoints) else where
            return await _hide_private(trial, urlsplit(url).hostname or "")

    async def test_mail(self, project: Project, to: str) -> Trial:
        """Sends a mail to `to` by the project's server. Raises Invalid for no address, LimitExceeded, Busy."""
        recipient = _read_address(to)
        async with self._shares.take(project.id):
            await self._limits.take_one(project, MAIL_TESTS, "")
            server = self._routes.server_of(project)
            if server is None:
                trial = Trial()
                trial.failed(CONNECT, "there is no mail server: mails are kept")
                return trial
            trial = await self._send(project, server, recipient)
            return await _hide_private(trial, server.host)

    async def _send(self, project: Project, server: MailServer, to: str) -> Trial:
        sender: Address = self._routes.sender_of(project)
        text = TEXT.format(name=project.name)
        message = write_message(
            Letter(SUBJECT, text, f"<p>{escape(text)}</p>"),
            sender=sender,
            to=to,
            message_id=f"<{new_id()}@{sender.domain}>",
            date=now(),
        )
        return await try_server(server, message, seconds=SECONDS)


def _read_address(text: str) -> str:
    """Raises Invalid."""
    try:
        return normalize_email(text)
    except ValueError as error:
        raise Invalid.one(("body", "to"), str(error)) from None


async def _hide_private(trial: Trial, host: str) -> Trial:
    """The trial without the reasons of its failures, where the host is in a private network."""
    if trial.ok or not await _is_private(host):
        return trial
    return Trial([step if step.ok else replace(step, detail=NOT_ALLOWED) for step in trial.steps])


async def _is_private(host: str) -> bool:
    """True if any address of the host is not of the public internet."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(host, None)
    except (gaierror, TimeoutError, UnicodeError):
        return False
    return any(not ip_address(str(each[4][0]).partition("%")[0]).is_global for each in found)
