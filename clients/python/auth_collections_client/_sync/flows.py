# Written by clients/python/unasync from _async: change that.
"""The base of `auth`: it reads a call's result as a sign-in, and stores the session that opens."""

from typing import Any

from auth_collections_client._sync.transport import Transport
from auth_collections_client.calls import Call
from auth_collections_client.errors import CredentialError, ForbiddenError
from auth_collections_client.sessions import make_session
from auth_collections_client.sign_ins import SignIn, mail_sent, needed, signed_in


class Flows:
    """Sends sign-ins and keeps their sessions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._keeper = transport.keeper

    def _json(self, call: Call) -> Any:
        return (self._transport.send(call)).body

    def _sign_in(self, call: Call, *, replaces: bool = False) -> SignIn:
        """Returns the result of a sign-in, whose session is stored. With `replaces` it replaces the same user's."""
        self._keeper.require_store()
        result: SignIn = self._settle(call, replaces=replaces)
        return result

    def _settle(self, call: Call, *, replaces: bool = False) -> Any:
        """Returns a sign-in, what it still needs, or the answer of a call that opens no session."""
        before = self._keeper.read() if replaces else None
        try:
            answer = self._transport.send(call)
        except (CredentialError, ForbiddenError) as error:
            found = needed(error)
            if found is None:
                raise
            return found
        if "access_token" not in answer.body:
            return mail_sent(answer) if answer.status == 202 else answer.body
        self._keeper.require_store()
        session = make_session(answer.body)
        is_same = before is not None and before["user_id"] == session["user_id"]
        self._keeper.put(session, "refreshed" if is_same else "signed_in")
        return signed_in(answer)
