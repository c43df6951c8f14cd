"""What somebody follows is bound anew when what decides about it has changed."""

import asyncio

import structlog

from service.domain.access.caller import UserCaller
from service.domain.access.control import AccessControl
from service.domain.realtime.connections import UNAUTHENTIC, Connection
from service.domain.realtime.following import Following
from service.domain.realtime.snapshots import Snapshots
from service.domain.realtime.stale import Stale
from service.domain.realtime.subscriptions import ACCESS, Subscription
from service.domain.sessions.access_tokens import Tokens
from service.errors import InvalidToken, ServiceError, Unavailable

log = structlog.get_logger()

LOOK_SECONDS = 0.25
# How many callers' rights are looked at again at once.
AT_ONCE = 8


class Rights:
    """Binds anew what somebody follows whose rights may have changed."""

    def __init__(
        self, stale: Stale, following: Following, snapshots: Snapshots, *, access: AccessControl, tokens: Tokens
    ) -> None:
        self._stale = stale
        self._following = following
        self._snapshots = snapshots
        self._access = access
        self._tokens = tokens

    async def keep(self) -> None:
        stale, changed = await self._stale.take()
        for project in {
            each.caller.project.id: each.caller.project for each in stale if each.database_name in changed
        }.values():
            await self._access.refresh(project)
        for start in range(0, len(stale), AT_ONCE):
            await asyncio.gather(
                *(
                    self._look_again(each, is_changed=each.database_name in changed)
                    for each in stale[start : start + AT_ONCE]
                )
            )

    async def _look_again(self, connection: Connection, *, is_changed: bool) -> None:
        self._access.forget_caller(connection.caller)
        try:
            if isinstance(connection.caller, UserCaller):
                connection.caller = await self._tokens.verify(connection.credential)
                await self._access.require_user(connection.caller)
            for subscription in list(connection.subscriptions.values()):
                if is_changed:
                    await self._following.refresh_collection(connection, subscription.name)
                await self._bind_again(connection, subscription)
        except InvalidToken:
            connection.close(UNAUTHENTIC)
        except ServiceError as error:
            # What nobody can tell now is looked at again; meanwhile nothing is told to whom it may not concern any more.
            log.warning("rights_not_read", code=error.code)
            await asyncio.sleep(LOOK_SECONDS)
            self._stale.note([connection] if connection.is_open else [])

    async def _bind_again(self, connection: Connection, subscription: Subscription) -> None:
        """Nothing happens where the same is found as before. Raises InvalidToken, Unavailable."""
        try:
            is_other = await self._following.bind_again(connection, subscription)
        except (InvalidToken, Unavailable):
            raise
        except ServiceError as error:
            self._following.refuse(connection, subscription, error)
            return
        if is_other:
            self._snapshots.begin_again(connection, subscription, ACCESS)
