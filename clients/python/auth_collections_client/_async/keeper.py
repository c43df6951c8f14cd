"""The session of a client: read from its store, refreshed once at a time, announced to listeners."""

import time
from collections.abc import Callable
from typing import Any

from auth_collections_client._async import seam
from auth_collections_client.errors import ConfigurationError, CredentialError, ServiceError
from auth_collections_client.sessions import Event, Listener, Session, Store, is_due, make_session, read_session
from auth_collections_client.wire import logger


class AsyncKeeper:
    """Holds a store, or a fixed session. `_epoch` counts sign-ins and sign-outs, which a refresh must not undo."""

    def __init__(self, store: Store | None = None, fixed: Session | None = None) -> None:
        self._store = store
        self._fixed = fixed
        self._epoch = 0
        self._refreshing = seam.Lock()
        self._writing = seam.Lock()
        self._listeners: list[Listener] = []

    def require_store(self) -> None:
        """Raises ConfigurationError where a sign-in would have no place to go."""
        if self._fixed is not None:
            raise ConfigurationError("This client has a fixed token: sign in with a client that has a session.")
        if self._store is None:
            raise ConfigurationError("A sign-in needs a place for its session: Client(..., session=memory()).")

    @property
    def is_fixed(self) -> bool:
        """True where the client acts as the user of one token."""
        return self._fixed is not None

    async def read(self) -> Session | None:
        if self._fixed is not None or self._store is None:
            return self._fixed
        return read_session(await seam.settle(self._store.get()))

    async def put(self, session: Session | None, event: Event) -> None:
        """Stores a session, or none, and tells the listeners."""
        if self._store is None:
            self.require_store()
            return
        async with self._writing:
            self._epoch += 1
            await seam.settle(self._store.set(session))
        self.announce(event, session)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def announce(self, event: Event, session: Session | None) -> None:
        """Calls every listener, outside all locks; the error of one is logged."""
        for listener in list(self._listeners):
            try:
                listener(event, session)
            except Exception:
                logger.exception("A listener of session changes failed.")

    async def fresh(self, refresh: Callable[[str], Any]) -> Session | None:
        """Returns the session for a call, refreshed if it ends soon. An early refresh may fail while the token lives."""
        session = await self.read()
        if session is None or not is_due(session, time.time()):
            return session
        try:
            return await self.renew(session, refresh)
        except ServiceError:
            if session["expires_at"] <= time.time():
                raise
            return session

    async def renew(self, stale: Session, refresh: Callable[[str], Any]) -> Session | None:
        """Returns the successor of a session, or None where there is none for the same user.

        Concurrent callers get one successor; a session that cannot be refreshed is dropped.
        """
        if self._fixed is not None:
            return None
        async with self._refreshing:
            now = await self.read()
            if now is None or now["user_id"] != stale["user_id"]:
                return None
            if now["access_token"] != stale["access_token"]:
                return now
            epoch = self._epoch
            successor = await self._successor(now, refresh)
            changed, result = await self._swap(now, successor, epoch)
        if changed:
            self.announce("signed_out" if result is None else "refreshed", result)
        return result

    async def _successor(self, session: Session, refresh: Callable[[str], Any]) -> Session | None:
        if session["refresh_token"] is None:
            return None
        try:
            answer = await refresh(session["refresh_token"])
        except CredentialError:
            return None
        return make_session({**answer, "user_id": session["user_id"]})

    async def _swap(self, before: Session, after: Session | None, epoch: int) -> tuple[bool, Session | None]:
        """Stores the successor unless a sign-in or sign-out came between; returns True if stored, and the user's session."""
        if self._store is None:
            return False, None
        async with self._writing:
            now = await self.read()
            if epoch != self._epoch or now is None or now["user_id"] != before["user_id"]:
                return False, None
            if now["access_token"] != before["access_token"]:
                return False, now
            await seam.settle(self._store.set(after))
            return True, after
