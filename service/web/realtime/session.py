"""One socket from its first message to its end: messages are read one after the other, and each is answered or refused."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import structlog
from starlette.types import Receive, Scope

from service.bounds import MAX_MESSAGE_BYTES, MAX_MESSAGE_ERRORS, MAX_MESSAGES, MAX_SUBSCRIPTIONS, MAX_USER_SOCKETS
from service.domain.access.caller import UserCaller
from service.domain.limits.policies import DAILY, describe_settings
from service.domain.realtime.connections import EXPIRY_SECONDS, Connection, SocketSink
from service.domain.realtime.subscriptions import frame
from service.domain.realtime.upkeep import warn_or_expire
from service.errors import Invalid, LimitExceeded
from service.schema.values import write_time
from service.services import Services
from service.web.realtime.greeting import LIMITED, UNAUTHENTIC, SocketRefused, count, expiry, find_caller, greet
from service.web.realtime.messages import (
    count_where_bytes,
    find_refusal,
    is_id,
    make_parse,
    read_hello,
    read_message,
    render_refusal,
    write_error,
)


class Bucket:
    """Holds `size` messages at most, and is filled at `rate` a second."""

    __slots__ = ("_clock", "_left", "_rate", "_size", "_spent_at")

    def __init__(self, size: int, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._rate = rate
        self._clock = clock
        self._left = float(size)
        self._spent_at = clock()

    def take(self) -> bool:
        """Takes one message; False if none is left."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._spent_at) * self._rate)
        self._spent_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


log = structlog.get_logger()

HELLO_SECONDS = 5.0
MESSAGES_A_SECOND = 20.0
WRONG = 4400
TOO_MANY_MESSAGES = f"More than {int(MAX_MESSAGES)} messages at once, or more than 20 a second"
FAILED = 1011
DISCONNECTED = "websocket.disconnect"

Message = dict[str, Any]


class SocketSession:
    """The socket of `scope`. `run` returns when it has ended. It raises nothing: errors go to the client."""

    def __init__(self, scope: Scope, receive: Receive, sink: SocketSink, services: Services) -> None:
        self._scope = scope
        self._receive = receive
        self._sink = sink
        self._services = services
        self._bucket = Bucket(MAX_MESSAGES, MESSAGES_A_SECOND)
        self._errors = 0

    async def run(self) -> None:
        try:
            connection = await self._greet()
        except SocketRefused as refused:
            self._sink.close(refused.code, refused.reason)
            return
        if connection is None:
            return
        self._services.traffic.usage.tally.count_socket(time.time(), connection.caller.project.id)
        try:
            self._write_ready(connection)
            while connection.is_open and (message := await self._next()) is not None:
                # A client that does not read its answers gets no more of them.
                await connection.room()
                await self._read(connection, message)
        except SocketRefused as refused:
            connection.close(refused.code, refused.reason)
        except Exception:
            log.exception("socket_failed")
            connection.close(FAILED)
        finally:
            self._services.realtime.leave(connection)

    async def _greet(self) -> Connection | None:
        """None where the client is gone. Raises Refused."""
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                message = await self._next()
        except TimeoutError:
            raise SocketRefused(UNAUTHENTIC) from None
        if message is None:
            return None
        try:
            hello = read_hello(read_message(message))
        except Invalid:
            hello = None
        if hello is None:
            raise SocketRefused(UNAUTHENTIC)
        return await greet(hello, self._scope, self._sink, self._services)

    async def _next(self) -> str | None:
        """The next message; an empty one, which is none of ours, for bytes; None at the end. Raises Refused."""
        event = await self._receive()
        if event["type"] == DISCONNECTED:
            return None
        if not self._bucket.take():
            raise SocketRefused(LIMITED, TOO_MANY_MESSAGES)
        text: str | None = event.get("text")
        return text if text is not None else ""

    async def _read(self, connection: Connection, raw: str) -> None:
        try:
            message = read_message(raw)
        except Invalid as invalid:
            self._refuse(connection, invalid.violations[0].msg)
            return
        kind = message.get("type")
        handle = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is None:
            self._refuse(connection, "Unknown type of message")
        else:
            await handle(self, connection, message)

    def _refuse(self, connection: Connection, detail: str, id_: str | None = None) -> None:
        self._errors += 1
        if self._errors > MAX_MESSAGE_ERRORS:
            raise SocketRefused(WRONG)
        connection.write(write_error(detail, id_))

    def _write_ready(self, connection: Connection) -> None:
        expires = connection.expires_at
        moment = datetime.fromtimestamp(expires, UTC).replace(tzinfo=None) if expires is not None else None
        connection.write(
            frame(
                "ready",
                user_id=connection.user_id,
                expires_at=write_time(moment) if moment is not None else None,
                limits={
                    "sockets": int(MAX_USER_SOCKETS),
                    "subscriptions": int(MAX_SUBSCRIPTIONS),
                    "message_bytes": int(MAX_MESSAGE_BYTES),
                    "messages_per_second": MESSAGES_A_SECOND,
                    "token_expiring": EXPIRY_SECONDS,
                },
            )
        )
        connection.was_warned = False
        warn_or_expire(connection, datetime.now(UTC).timestamp())

    async def _subscribe(self, connection: Connection, message: Message) -> None:
        id_, name = message.get("id"), message.get("collection")
        if not isinstance(id_, str) or not is_id(id_):
            self._refuse(connection, "A subscription has an id of 1 to 64 characters")
        elif id_ in connection.subscriptions:
            self._refuse(connection, "This id is in use", id_)
        elif await self._is_counted(connection, id_):
            await self._follow(connection, message, id_, name)

    async def _follow(self, connection: Connection, message: Message, id_: str, name: object) -> None:
        parse, after = make_parse(message), message.get("after")
        if not isinstance(name, str):
            connection.write(frame("closed", id=id_, **find_refusal(parse)))
            return
        await self._services.realtime.subscribe(
            connection,
            id_,
            name,
            parse=parse,
            render=render_refusal,
            where_bytes=count_where_bytes(message),
            after=after if isinstance(after, str) else None,
        )

    async def _is_counted(self, connection: Connection, id_: str) -> bool:
        """True if the day's limit has room for it; otherwise a frame reports the limit."""
        try:
            await count(connection.caller, self._services)
        except SocketRefused as refused:
            if refused.code != LIMITED:
                raise
            limit = LimitExceeded(f"The limit of {DAILY.what} is reached{describe_settings(DAILY)}")
            connection.write(frame("closed", id=id_, **limit.body()))
            return False
        return True

    async def _unsubscribe(self, connection: Connection, message: Message) -> None:
        id_ = message.get("id")
        if not is_id(id_):
            self._refuse(connection, "A subscription has an id of 1 to 64 characters")
            return
        if (found := connection.subscriptions.get(str(id_))) is not None:
            self._services.realtime.unsubscribe(connection, found)
        connection.write(frame("closed", id=id_, code="unsubscribed", detail="Unsubscribed"))

    async def _ping(self, connection: Connection, _message: Message) -> None:
        connection.write(frame("pong"))

    async def _hello(self, _connection: Connection, _message: Message) -> None:
        raise SocketRefused(UNAUTHENTIC)

    async def _token(self, connection: Connection, message: Message) -> None:
        """Another token of the same user. Raises Refused."""
        token, caller = message.get("token"), connection.caller
        if not isinstance(token, str) or not isinstance(caller, UserCaller):
            raise SocketRefused(UNAUTHENTIC)
        found = await find_caller({"token": token}, self._scope, self._services)
        if not isinstance(found, UserCaller) or found.user_id != caller.user_id:
            raise SocketRefused(UNAUTHENTIC)
        if found.project.id != caller.project.id:
            raise SocketRefused(UNAUTHENTIC)
        connection.caller, connection.credential = found, token
        connection.expires_at = expiry(token)
        self._write_ready(connection)


Handle = Callable[[SocketSession, Connection, Message], Awaitable[None]]
# fmt: off
HANDLERS: dict[str, Handle] = {
    "hello": SocketSession._hello,  # noqa: SLF001
    "subscribe": SocketSession._subscribe,  # noqa: SLF001
    "unsubscribe": SocketSession._unsubscribe,  # noqa: SLF001
    "token": SocketSession._token,  # noqa: SLF001
    "ping": SocketSession._ping,  # noqa: SLF001
}
# fmt: on
