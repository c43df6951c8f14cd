# Written by clients/python/unasync from _async: change that.
"""`client.auth`: sign-ins, the account, and the session of this client."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from auth_collections_client._generics import U
from auth_collections_client._sync.account import Account
from auth_collections_client._sync.sign_in_calls import AUTH
from auth_collections_client.calls import Options, post
from auth_collections_client.sessions import Listener, Session, make_session, read_claims


class Auth(Account[U]):
    """All of `client.auth`."""

    def session(self) -> Session | None:
        return self._keeper.read()

    def claims(self) -> dict[str, Any] | None:
        """Returns the claims of the user's token, which are not verified; None without a session."""
        session = self._keeper.read()
        return None if session is None else read_claims(session["access_token"])

    def set_session(self, tokens: Mapping[str, Any]) -> Session:
        """Stores a session: tokens as the service answers them, or a session that was stored elsewhere."""
        self._keeper.require_store()
        session = make_session(tokens)
        self._keeper.put(session, "signed_in")
        return session

    def refresh(self) -> Session | None:
        """Refreshes the session now; None where there is none any more."""
        session = self._keeper.read()
        return None if session is None else self._keeper.renew(session, self._transport.refresh)

    def logout(self, **options: Unpack[Options]) -> None:
        """Forgets the session, then ends it at the service."""
        self._keeper.require_store()
        session = self._keeper.read()
        if session is None:
            return
        self._keeper.put(None, "signed_out")
        token, refresh_token = session["access_token"], session["refresh_token"]
        path, body = f"{AUTH}/logout", {"refresh_token": refresh_token} if refresh_token else {}
        self._transport.send(post(path, body, repeat="safe", token=token, options=options))

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener(event, session)` after each change; returns a function that stops it."""
        return self._keeper.on_change(listener)
