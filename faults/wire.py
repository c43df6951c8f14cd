"""HTTP/1.1 on a bare connection, which tells at which point it broke; a client library would try again, or hide it."""

import asyncio
from collections.abc import Mapping


class Refused(Exception):
    """No connection: nothing was accepted."""


class Broken(Exception):
    """The connection ended before the whole answer was there. The message says how."""


class Connection:
    """One connection; `request` may be called again as long as it is `open`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        """Raises Refused."""
        try:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            raise Refused from error

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None

    async def request(
        self, method: str, path: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, dict[str, str]]:
        """The status and the header fields. Opens the connection if need be. Raises Refused, Broken."""
        status, fields, _ = await self.exchange(method, path, headers=headers, body=body)
        return status, fields

    async def exchange(
        self, method: str, path: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, the header fields and the body. Opens the connection if need be. Raises Refused, Broken."""
        if self._streams and self._streams[0].at_eof():
            # Kept for so long that the server has closed it, which any client notices before it sends.
            self.close()
        kind = "reused" if self._streams else "fresh"
        if not self._streams:
            await self.open()
        assert self._streams
        reader, writer = self._streams
        lines = [f"{method} {path} HTTP/1.1", "host: service.test", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        read = 0
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            read = len(head)
            status, fields = _parse(head)
            answer = await reader.readexactly(int(fields.get("content-length", "0")))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Broken(f"{type(error).__name__} on a {kind} connection after {read} bytes") from error
        if fields.get("connection") == "close":
            self.close()
        return status, fields, answer


def _parse(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}
