"""Receivers of posts on the loopback, and certificates for them."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from service.outbound.destinations import Destinations

LOOPBACK = Destinations((ip_network("127.0.0.0/8"),))
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """Counts its connections, and answers each request by `answer`."""

    def __init__(self, answer: Answer) -> None:
        self.connections = 0
        self.heads = list[str]()
        self.port = 0
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.heads.append(head)
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(answer: Answer, context: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=context)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()


def answering(raw: bytes) -> Answer:
    """Reads the body of 2 bytes, and answers so."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        writer.write(raw)
        await writer.drain()

    return answer


def make_certificate(folder: Path, name: str, *, days: int = 1) -> Path:
    """A self-signed certificate of the name, with its key. With fewer than one of `days` it has expired."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(now - dt.timedelta(days=9))
    built = built.not_valid_after(now + dt.timedelta(days=days))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / f"{name}{days}.pem"
    path.write_bytes(pem + built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("outbound")
    return lambda name, days=1: make_certificate(folder, name, days=days)
