"""`client.auth`: sign-ins, the account, and the session of this client."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from auth_collections_client._async.account import AsyncAccount
from auth_collections_client._async.sign_in_calls import AUTH
from auth_collections_client._generics import U
from auth_collections_client.calls import Options, post
from auth_collections_client.sessions import Listener, Session, make_session, read_claims


class AsyncAuth(AsyncAccount[U]):
    """All of `client.auth`."""

    async def session(self) -> Session | None:
        return await self._keeper.read()

    async def claims(self) -> dict[str, Any] | None:
        """Returns the claims of the user's token, which are not verified; None without a session."""
        session = await self._keeper.read()
        return None if session is None else read_claims(session["access_token"])

    async def set_session(self, tokens: Mapping[str, Any]) -> Session:
        """Stores a session: tokens as the service answers them, or a session that was stored elsewhere."""
        self._keeper.require_store()
        session = make_session(tokens)
        await self._keeper.put(session, "signed_in")
        return session

    async def refresh(self) -> Session | None:
        """Refreshes the session now; None where there is none any more."""
        session = await self._keeper.read()
        return None if session is None else await self._keeper.renew(session, self._transport.refresh)

    async def logout(self, **options: Unpack[Options]) -> None:
        """Forgets the session, then ends it at the service."""
        self._keeper.require_store()
        session = await self._keeper.read()
        if session is None:
            return
        await self._keeper.put(None, "signed_out")
        token, refresh_token = session["access_token"], session["refresh_token"]
        path, body = f"{AUTH}/logout", {"refresh_token": refresh_token} if refresh_token else {}
        await self._transport.send(post(path, body, repeat="safe", token=token, options=options))

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener(event, session)` after each change; returns a function that stops it."""
        return self._keeper.on_change(listener)
