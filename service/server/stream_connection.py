"""The connection of a stream of events, as the application sees it: what waits in it, and its end."""

from uvicorn.protocols.http.flow_control import FlowControl

from service.fast.write_buffer import WriteBuffer


class StreamConnection:
    """The bytes of an answer that its client has yet to read."""

    __slots__ = ("_buffer", "_flow")

    def __init__(self, buffer: WriteBuffer, flow: FlowControl) -> None:
        self._buffer = buffer
        self._flow = flow

    def waiting(self) -> int:
        return 0 if self._buffer.is_closing() else self._buffer.waiting()

    async def room(self) -> None:
        """Returns when the connection takes more."""
        await self._flow.drain()

    def cut(self) -> None:
        """Ends the connection at once; what waits is lost."""
        if not self._buffer.is_closing():
            self._buffer.reset()
