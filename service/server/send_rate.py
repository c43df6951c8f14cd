"""The least rate at which a client must take an answer that waits for it."""

import asyncio
from collections.abc import Callable

from service.fast.write_buffer import WriteBuffer


class SendRate:
    """Judges, window by window, a client that has fallen behind; one that takes too little loses its connection.

    The first window begins when the client falls behind: before that, the kernel takes megabytes at once for anybody.
    """

    def __init__(self, transport: WriteBuffer, is_behind: Callable[[], bool], *, window: float, rate: int) -> None:
        self._transport = transport
        self._is_behind = is_behind
        self._window = window
        self._least_bytes = window * rate
        self._taken = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The client has fallen behind. A window under way goes on."""
        if self._timer is None:
            self._taken = self._transport.taken()
            self._timer = asyncio.get_running_loop().call_later(self._window, self._judge)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _judge(self) -> None:
        self._timer = None
        if not self._is_behind():
            return
        if self._transport.taken() - self._taken < self._least_bytes:
            self._transport.reset()
        else:
            self.start()
