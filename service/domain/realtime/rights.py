"""Binds live queries again after a change of rights."""

import asyncio
import time
from collections.abc import Collection, Iterable

import structlog

from service.domain.access.caller import UserCaller
from service.domain.access.control import AccessControl
from service.domain.realtime.connections import FAILED, UNAUTHENTIC, UNAVAILABLE, Connection, Stale
from service.domain.realtime.following import Following
from service.domain.realtime.snapshots import Snapshots
from service.domain.realtime.subscriptions import ACCESS, Subscription
from service.domain.sessions.access_tokens import Tokens
from service.errors import InvalidToken, ServiceError, Unavailable

log = structlog.get_logger()

LOOK_SECONDS = 0.25
# Callers whose rights are read at once.
AT_ONCE = 8
# Seconds that delivery goes on under rights that may have changed and cannot be read.
UNSURE_SECONDS = 1.0


class RightsRefresher:
    """Binds the live queries of callers again whose rights may have changed."""

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
        unknown = await self._refresh_rules(stale, changed)
        for start in range(0, len(stale), AT_ONCE):
            batch = stale[start : start + AT_ONCE]
            known = [each for each in batch if each.database_name not in unknown]
            looked = [self._look_again(each, is_changed=each.database_name in changed) for each in known]
            read = dict(zip(known, await asyncio.gather(*looked), strict=True))
            for connection in batch:
                self._note_read(connection, is_read=read.get(connection, False), changed=changed)
        if any(each.unsure_since is not None for each in stale):
            await asyncio.sleep(LOOK_SECONDS)

    async def _refresh_rules(self, stale: Iterable[Connection], changed: Collection[str]) -> set[str]:
        """Returns the databases whose rules cannot be read now."""
        unknown = set[str]()
        for name, project in {each.database_name: each.caller.project for each in stale}.items():
            if name in changed:
                try:
                    await self._access.refresh(project)
                except Exception as error:
                    # After any error, the waiting connections must be looked at again.
                    is_ours = isinstance(error, ServiceError)
                    log.warning("rights_not_read", cause=type(error).__name__, exc_info=None if is_ours else error)
                    unknown.add(name)
        return unknown

    def _note_read(self, connection: Connection, *, is_read: bool, changed: Collection[str]) -> None:
        """Marks a connection as read.

        Rights that cannot be read are tried again for a while; then the connection is closed.
        """
        if is_read:
            connection.unsure_since = None
            if not self._stale.has(connection):
                connection.go_on()
            return
        connection.unsure_since = connection.unsure_since or time.monotonic()
        if time.monotonic() - connection.unsure_since > UNSURE_SECONDS:
            connection.close(UNAVAILABLE)
        if connection.is_open:
            self._stale.note((connection,), changed={connection.database_name} & set(changed))

    async def _look_again(self, connection: Connection, *, is_changed: bool) -> bool:
        """Reads the caller's rights again; False if that failed."""
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
            log.warning("rights_not_read", code=error.code)
            return False
        except Exception:
            log.exception("rights_not_read")
            connection.close(FAILED)
        return True

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
