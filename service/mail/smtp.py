"""Handing one message to an SMTP server (RFC 5321), and what its answer means for the mail."""

import asyncio
import ssl
from email.message import EmailMessage
from functools import cache

import aiosmtplib

from service.mail.servers import MailServer

# Each step, and all of them: a lease of a mail outlives this.
STEP_SECONDS = 15.0
# From the connection to the end of the login: a server that sends a line now and then never lets a step run out.
GREETING_SECONDS = 15.0
DELIVERY_SECONDS = 60.0
# Refusals that concern the mail or its address, not the server or our credentials.
OF_THE_MAIL = (aiosmtplib.SMTPRecipientRefused, aiosmtplib.SMTPDataError)


class MailRefused(Exception):
    """The server will never take this mail for this address."""


class Postponed(Exception):
    """The server did not take it now. `is_away` is true if it would take no other mail either."""

    def __init__(self, reason: str, *, is_away: bool) -> None:
        super().__init__(reason)
        self.is_away = is_away


async def deliver(
    server: MailServer,
    message: EmailMessage,
    *,
    seconds: float = DELIVERY_SECONDS,
    greeting_seconds: float = GREETING_SECONDS,
) -> None:
    """Returns when the server has taken the message, with its 250. Raises Refused, Postponed."""
    try:
        async with asyncio.timeout(seconds):
            await _send(server, message, greeting_seconds)
    except aiosmtplib.SMTPRecipientsRefused as error:
        raise _judge(error.recipients[0]) from None
    except aiosmtplib.SMTPResponseException as error:
        raise _judge(error) from None
    except (aiosmtplib.SMTPException, OSError, TimeoutError, ValueError) as error:
        raise Postponed(type(error).__name__, is_away=True) from None


async def _send(server: MailServer, message: EmailMessage, greeting_seconds: float) -> None:
    context = make_context(checked=server.needs_tls)
    client = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        timeout=STEP_SECONDS,
        use_tls=server.is_tls,
        # None: where the server offers it.
        start_tls=False if server.is_tls else True if server.needs_tls else None,
        tls_context=context,
        local_hostname="localhost",
    )
    async with asyncio.timeout(greeting_seconds):
        await client.connect()
    async with client:
        await client.send_message(message)


def _judge(error: aiosmtplib.SMTPResponseException) -> MailRefused | Postponed:
    """4xx: later. 5xx: never, if it is about the mail or its address; other refusals can be mended at the server."""
    if isinstance(error, OF_THE_MAIL):
        return MailRefused(str(error.code)) if error.code >= 500 else Postponed(str(error.code), is_away=False)
    return Postponed(f"{type(error).__name__} {error.code}", is_away=True)


@cache
def make_context(*, checked: bool) -> ssl.SSLContext:
    """By the authorities of this machine, or those that SSL_CERT_FILE names."""
    context = ssl.create_default_context()
    if not checked:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
