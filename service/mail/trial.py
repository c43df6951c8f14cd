"""Trying a mail server with one message: the steps of a delivery, each with its outcome, and the server's last line."""

import asyncio
import ssl
from email.message import EmailMessage

import aiosmtplib

from service.mail.servers import MailServer
from service.mail.smtp import make_context
from service.schema.outcomes import Trial

MAX_REPLY = 500
CONNECT, TLS, LOGIN, ACCEPTED = "connect", "tls", "login", "accepted"


async def try_server(server: MailServer, message: EmailMessage, *, seconds: float) -> Trial:
    """Hands over `message`, within so many seconds. A failure of the server is an outcome, and raises nothing."""
    trial, delivery = Trial(), _Delivery(server)
    try:
        async with asyncio.timeout(seconds):
            await delivery.run(message, trial)
    except aiosmtplib.SMTPRecipientsRefused as error:
        _refuse(trial, delivery.step, error.recipients[0])
    except aiosmtplib.SMTPResponseException as error:
        _refuse(trial, delivery.step, error)
    except (aiosmtplib.SMTPException, OSError, TimeoutError, ValueError) as error:
        step = TLS if _is_tls(error) else delivery.step
        trial.failed(step, "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
    finally:
        delivery.client.close()
    return trial


class _Delivery:
    """One connection; `step` is the step under way."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        self._context = make_context(checked=server.needs_tls)
        self.step = CONNECT
        self.client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            use_tls=server.is_tls,
            start_tls=False,
            tls_context=self._context,
            local_hostname="localhost",
        )

    async def run(self, message: EmailMessage, trial: Trial) -> None:
        await self.client.connect()
        trial.passed(CONNECT)
        self.step = TLS
        await self._secure(trial)
        if self._server.user is not None:
            self.step = LOGIN
            await self.client.login(self._server.user, self._server.password or "")
            trial.passed(LOGIN)
        self.step = ACCEPTED
        _, reply = await self.client.send_message(message)
        trial.passed(ACCEPTED)
        trial.reply = _last_line(reply)

    async def _secure(self, trial: Trial) -> None:
        """As a delivery does: TLS is required for a server elsewhere, and used where the server offers it."""
        if self._server.is_tls:
            trial.passed(TLS, "from the first byte")
            return
        await self.client.ehlo()
        if self._server.needs_tls or self.client.supports_extension("starttls"):
            await self.client.starttls(tls_context=self._context)
            trial.passed(TLS, "STARTTLS")
        else:
            trial.passed(TLS, "none, on this machine")


def _refuse(trial: Trial, step: str, error: aiosmtplib.SMTPResponseException) -> None:
    trial.failed(step, f"the server answered {error.code}")
    trial.reply = _last_line(f"{error.code} {error.message}")


def _is_tls(error: BaseException) -> bool:
    """True if the handshake failed: the driver wraps its error."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _last_line(reply: str) -> str | None:
    """The last line of a reply, without characters that are no visible text."""
    lines = reply.strip().splitlines()
    shown = "".join(letter for letter in lines[-1][:MAX_REPLY] if letter.isprintable()) if lines else ""
    return shown or None
