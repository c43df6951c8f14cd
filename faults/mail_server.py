"""An SMTP server for tests: aiosmtpd, which is not ours, and what it was handed. It can be made to refuse, or to hang."""

import asyncio
import email
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

USER, PASSWORD = "mailer", "p@ss/word:1"


@dataclass
class Handed:
    """The mails the server took, and its answers: each of `answers` is for one recipient or one content, then 250
    again.
    """

    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    was_tls: list[bool] = field(default_factory=list)
    refuses_recipients: list[str] = field(default_factory=list)
    refuses_contents: list[str] = field(default_factory=list)
    hangs: bool = False
    attempts: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle_RCPT(  # noqa: N802 - as aiosmtpd calls it
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        self.attempts += 1
        if self.hangs:
            await asyncio.sleep(3_600)
        if self.refuses_recipients:
            return self.refuses_recipients.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - as above
        if self.refuses_contents:
            return self.refuses_contents.pop(0)
        message = email.message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        self.recipients += envelope.rcpt_tos
        self.was_tls.append(session.ssl is not None)
        self.changed.set()
        return "250 taken"


def _judge(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False)


@asynccontextmanager
async def mail_server(
    *, tls: ssl.SSLContext | None = None, needs_login: bool = False, port: int = 0
) -> AsyncIterator[tuple[Handed, int]]:
    """The server on a port of this machine; `tls` is for STARTTLS, which it then insists on."""
    handed = Handed()
    options: dict[str, Any] = {"tls_context": tls, "require_starttls": tls is not None}
    if needs_login:
        options |= {"authenticator": _judge, "auth_required": tls is not None, "auth_require_tls": tls is not None}
    loop = asyncio.get_running_loop()

    connections: list[SMTP] = []

    def build() -> SMTP:
        connections.append(SMTP(handed, hostname="localhost", loop=loop, enable_SMTPUTF8=True, **options))
        return connections[-1]

    server = await loop.create_server(build, "127.0.0.1", port)
    try:
        yield handed, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in connections:
            if connection.transport is not None:
                connection.transport.close()
        # An aborted connection is closed on the loop's next turn.
        await asyncio.sleep(0.01)
