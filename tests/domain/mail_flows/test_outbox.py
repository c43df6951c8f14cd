"""Mails go out once, whatever their servers do: row E11."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pymongo.collection import Collection

from faults.mail import storm
from faults.mail_server import PASSWORD, USER, mail_server
from faults.waiting import until
from service.domain.limits.limiter import Limits
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.outbox import Outbox, Timing
from service.domain.mail_flows.outgoing import read_routes
from service.domain.mail_flows.purposes import Purpose
from service.domain.projects.secrets import SecretBox
from service.mail import smtp
from service.mail.servers import MailServer
from service.mail.smtp import Postponed
from service.services import Services
from service.settings import Settings
from service.storage.counters import Counters
from service.storage.flows import FlowStore
from tests.conftest import Api, MakeApi

QUICK = Timing(poll=0.02, first_retry=0.05, pause=0.1, delivery=5.0, close=0.1)
SECONDS = 30.0
LOGIN = f"{USER}:p%40ss%2Fword%3A1@"
assert PASSWORD == "p@ss/word:1"

MakeOutbox = Callable[..., Outbox]


@pytest.fixture
def make_outbox(services: Services, monkeypatch: pytest.MonkeyPatch) -> MakeOutbox:
    """Outboxes of this test; the application's own sends nothing meanwhile."""

    async def nothing(*_: object, **__: object) -> None:
        await asyncio.sleep(0.05)

    monkeypatch.setattr(services.flows.outbox, "_begin", nothing)
    box = SecretBox(b"k" * 32)

    def make(timing: Timing = QUICK) -> Outbox:
        routes = read_routes(None, "Shop <no-reply@shop.example>", "http://service.test")
        return Outbox(FlowStore(services.base.databases), services.base.projects, box, routes, timing=timing)

    return make


@asynccontextmanager
async def running(outbox: Outbox) -> AsyncIterator[None]:
    async def run() -> None:
        while True:
            await outbox.run()

    task = asyncio.create_task(run(), name="background: test")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await outbox.close()


@pytest.fixture
def flows(mongo: Any, database_prefix: str, emptied: None) -> Any:
    return mongo[f"{database_prefix}system"]["flows"]


async def queue(services: Services, outbox: Outbox, api: Api, *emails: str, kind: str = "verify_email") -> None:
    limits = Limits(Counters(services.base.databases))
    opener = Flows(
        services.base.projects,
        FlowStore(services.base.databases),
        SecretBox(b"k" * 32),
        limits,
        outbox,
        key=b"x" * 32,
        base_url="http://service.test",
    )
    project = await services.base.admin.find(api.project.id)
    for email in emails:
        await opener.open(project, Purpose(kind, email, "u" + email))


async def test_a_mail_is_taken_once_and_what_it_said_is_erased(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any]
) -> None:
    outbox = make_outbox()
    async with mail_server() as (handed, port), running(outbox):
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        began = dt.datetime.now(dt.UTC)
        await queue(services, outbox, api, "ann@example.com")
        await until(lambda: flows.count_documents({"mail.status": "sent"}) == 1)
    (message,) = handed.messages
    (flow,) = flows.find()
    assert handed.recipients == ["ann@example.com"]
    assert (message["From"], message["To"]) == ("Shop <no-reply@shop.example>", "ann@example.com")
    assert message["Message-ID"] == f"<{flow['_id']}@shop.example>"
    assert flow["mail"].keys() == {"kind", "locale", "attempts", "status", "host"}
    # The life of a code begins with the server's 250.
    assert flow["expires_at"].replace(tzinfo=dt.UTC) >= began.replace(microsecond=0) + dt.timedelta(hours=24)
    assert flow["expires_at"].replace(tzinfo=dt.UTC) <= dt.datetime.now(dt.UTC) + dt.timedelta(hours=24)


async def test_e11_what_a_server_postpones_comes_later_with_the_same_id(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any]
) -> None:
    outbox = make_outbox()
    async with mail_server() as (handed, port), running(outbox):
        handed.refuses_recipients, handed.refuses_contents = ["450 later"], ["451 later still"]
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        await queue(services, outbox, api, "ann@example.com")
        await until(lambda: handed.messages)
        await until(lambda: flows.count_documents({"mail.status": "sent", "mail.attempts": 3}) == 1)
    assert len(handed.messages) == 1


async def test_e11_what_a_server_refuses_for_good_is_listed_and_sent_again_when_asked(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any]
) -> None:
    outbox = make_outbox()
    async with mail_server() as (handed, port), running(outbox):
        handed.refuses_recipients = ["550 nobody here"]
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        await queue(services, outbox, api, "ann@example.com", "bob@example.com")
        await until(lambda: flows.count_documents({"mail.status": "failed"}) == 1)
        await until(lambda: flows.count_documents({"mail.status": "sent"}) == 1)
        listed = (await api.request("GET", "/auth-collections/mails")).json()
        (failed,) = [mail for mail in listed["mails"] if mail["status"] == "failed"]
        assert (listed["total"], failed["attempts"], failed["kind"]) == (2, 1, "verify_email")
        again = await api.request("POST", f"/auth-collections/mails/{failed['id']}/retry")
        assert again.status_code == 204
        outbox.wake()
        await until(lambda: flows.count_documents({"mail.status": "sent"}) == 2)
    assert sorted(handed.recipients) == ["ann@example.com", "bob@example.com"]
    gone = await api.request("POST", f"/auth-collections/mails/{failed['id']}/retry")
    assert (gone.status_code, gone.json()) == (404, {"detail": "Mail not found", "code": "mail_not_found"})


async def test_e11_a_server_that_is_away_or_hangs_holds_up_no_other(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any], unused_tcp_port: int
) -> None:
    outbox = make_outbox()
    async with mail_server() as (stuck, stuck_port), mail_server() as (handed, port), running(outbox):
        stuck.hangs = True
        hanging = await make_api(SMTP_URL=f"smtp://127.0.0.1:{stuck_port}")
        away = await make_api(SMTP_URL=f"smtp://127.0.0.1:{unused_tcp_port}")
        good = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        await queue(services, outbox, hanging, *(f"h{number}@example.com" for number in range(20)))
        await queue(services, outbox, away, "away@example.com")
        await until(lambda: stuck.attempts)
        await queue(services, outbox, good, *(f"g{number}@example.com" for number in range(5)))
        await until(lambda: len(handed.messages) == 5)
        # A server has four mails under way at most.
        assert stuck.attempts <= 4
        async with mail_server(port=unused_tcp_port) as (back, _):
            await until(lambda: back.recipients == ["away@example.com"])
    assert flows.count_documents({"mail.status": "sent"}) == 6


@asynccontextmanager
async def dribbling_server() -> AsyncIterator[tuple[list[asyncio.StreamWriter], int]]:
    """An SMTP server that goes on greeting, a line a second, so that no step ever takes long."""
    writers: list[asyncio.StreamWriter] = []

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(OSError):
            while True:
                writer.write(b"220-wait\r\n")
                await writer.drain()
                await asyncio.sleep(1)

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    try:
        yield writers, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.close()


async def test_v20_four_dribbling_servers_leave_another_projects_mail_its_place(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox
) -> None:
    """From the first moment on, when nothing is known of any server, and again when they are known to be slow."""
    outbox = make_outbox(replace(QUICK, delivery=60.0, quick=1.0))
    async with AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(dribbling_server()) for _ in range(4)]
        handed, port = await stack.enter_async_context(mail_server())
        await stack.enter_async_context(running(outbox))
        for number, (_, slow_port) in enumerate(slow):
            project = await make_api(SMTP_URL=f"smtp://127.0.0.1:{slow_port}")
            await queue(services, outbox, project, *(f"s{number}-{each}@example.com" for each in range(6)))
        good = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        await until(lambda: all(writers for writers, _ in slow))
        for count in (1, 2):
            started = monotonic()
            await queue(services, outbox, good, f"g{count}@example.com")
            await until(lambda expected=count: len(handed.messages) == expected)  # type: ignore[misc]
            # A place that the slow servers hold is free after their 60 seconds.
            assert monotonic() - started < 30
            await asyncio.sleep(1.5)
        assert sum(len(writers) for writers, _ in slow) <= 8


async def test_v20_a_greeting_that_never_ends_is_cut_after_15_seconds() -> None:
    assert smtp.GREETING_SECONDS == 15
    message = EmailMessage()
    message["From"], message["To"] = "a@example.com", "b@example.com"
    async with dribbling_server() as (_, port):
        started = monotonic()
        with pytest.raises(Postponed):
            await smtp.deliver(MailServer("127.0.0.1", port, needs_tls=False), message, greeting_seconds=2.5)
        assert 2 < monotonic() - started < 30


async def test_a_mail_is_given_up_when_nobody_waits_for_it_any_more(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any], unused_tcp_port: int
) -> None:
    outbox = make_outbox()
    api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{unused_tcp_port}")
    await queue(services, outbox, api, "ann@example.com", kind="sign_in")
    flows.update_many({}, {"$set": {"created_at": dt.datetime.now(dt.UTC) - dt.timedelta(minutes=31)}})
    async with running(outbox):
        await until(lambda: flows.count_documents({"mail.status": "failed"}) == 1)


async def test_a_mail_whose_worker_died_is_sent_by_another_when_its_lease_is_over(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any]
) -> None:
    async with mail_server() as (handed, port):
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        outbox = make_outbox()
        await queue(services, outbox, api, "ann@example.com")
        moment = dt.datetime.now(dt.UTC)
        claimed = await FlowStore(services.base.databases).claim(moment, moment + dt.timedelta(seconds=0.3), without=())
        assert claimed is not None
        assert await FlowStore(services.base.databases).claim(moment, moment, without=()) is None
        async with running(outbox):
            await until(lambda: handed.messages)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 30), (2, 60), (3, 120), (8, 3_600), (100, 3_600)])
def test_the_time_between_tries_doubles_up_to_an_hour(attempts: int, seconds: float) -> None:
    assert Timing().retry_after(attempts) == seconds


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate of localhost; its key is in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = (
        built.serial_number(1).not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
    )
    built = built.add_extension(names, critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    signed = built.sign(key, hashes.SHA256())
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    private = serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    path.write_bytes(pem + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def fresh_contexts() -> Iterator[None]:
    smtp.make_context.cache_clear()
    yield
    smtp.make_context.cache_clear()


Deliver = Callable[..., Awaitable[None]]


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "unknown"])
async def test_starttls_and_a_login_go_before_a_mail_and_only_to_a_good_certificate(
    services: Services,
    make_api: MakeApi,
    make_outbox: MakeOutbox,
    flows: Collection[Any],
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    fresh_contexts: None,
    is_trusted: bool,
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    outbox = make_outbox(Timing(poll=0.02, first_retry=60))
    async with mail_server(tls=context, needs_login=True) as (handed, port), running(outbox):
        api = await make_api(SMTP_URL=f"smtp://{LOGIN}localhost:{port}?tls=required")
        await queue(services, outbox, api, "ann@example.com")
        tried = {"mail.status": "sent"} if is_trusted else {"mail.next_at": {"$gt": later(30)}, "mail.attempts": 1}
        await until(lambda: flows.count_documents(tried) == 1)
    assert handed.was_tls == ([True] if is_trusted else [])


def later(seconds: float) -> dt.datetime:
    return dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)


async def test_e11_a_server_without_tls_is_told_nothing_where_tls_is_required(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any]
) -> None:
    outbox = make_outbox(Timing(poll=0.02, first_retry=60))
    async with mail_server() as (handed, port), running(outbox):
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}?tls=required")
        await queue(services, outbox, api, "ann@example.com")
        await until(lambda: flows.count_documents({"mail.attempts": 1, "mail.status": "queued"}) == 1)
        await outbox.close()
    assert handed.attempts == 0


async def test_a_login_that_is_refused_is_tried_again_later(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, flows: Collection[Any]
) -> None:
    outbox = make_outbox(Timing(poll=0.02, first_retry=60, lease=300))
    async with mail_server(needs_login=True) as (handed, port), running(outbox):
        api = await make_api(SMTP_URL=f"smtp://mailer:wrong@127.0.0.1:{port}")
        await queue(services, outbox, api, "ann@example.com")
        postponed = {"mail.attempts": 1, "mail.next_at": {"$lt": later(120), "$gt": later(20)}}
        await until(lambda: flows.count_documents(postponed) == 1)
    assert handed.messages == []


async def test_e11_no_mail_is_lost_when_those_who_send_are_killed(
    services: Services, make_api: MakeApi, make_outbox: MakeOutbox, settings: Settings
) -> None:
    """The small form of `scripts/faults mail`, in which the server is away, hangs and postpones meanwhile."""
    api = await make_api()
    make_outbox()
    report = await storm(settings, services, api.project.id, mails=8, kills=2)
    assert (report.kills, report.lost) == (2, 0)
    assert report.duplicates <= report.kills
