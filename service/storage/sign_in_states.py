"""Sign-ins that were begun: one document each, used once. The TTL index only cleans up; the stored time decides."""

from dataclasses import dataclass, field
from datetime import datetime

from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.records import translated


@dataclass(frozen=True, slots=True)
class SignInState:
    """The state of a pending sign-in, for the callback.

    `id` is the SHA-256 of the state that the browser carries, `browser` that of the value that binds the sign-in to it.
    With a `challenge` a code is made in place of a token, for the page `redirect_to`. `provider` is the one whose ID
    token an app will send, by its name. `user_id` is the signed-in user that wants to link the identity.
    """

    id: str = field(repr=False)
    project_id: str
    client_binding: str
    nonce: str = field(repr=False)
    code_verifier: str = field(repr=False)
    browser: str | None = field(repr=False)
    client_state: str | None
    expires_at: datetime
    challenge: str | None = field(default=None, repr=False)
    redirect_to: str | None = None
    provider: str | None = None
    user_id: str | None = None


class SignInStates:
    """`sign_in_states`: {_id, project_id, expires_at, and what else is in a SignInState}."""

    __slots__ = ("_states",)

    def __init__(self, databases: Databases) -> None:
        self._states = databases.system["sign_in_states"]

    async def insert(self, state: SignInState) -> None:
        with translated():
            await self._states.insert_one(_document(state))

    async def take(self, id_: str, *, project_id: str, moment: datetime) -> SignInState | None:
        """Finds and deletes, in one step, the state of `id_` that is the project's and not expired at `moment`.

        Exactly one concurrent caller gets it. Another project's state stays, so that it cannot be spent there.
        """
        match = {"_id": id_, "project_id": project_id, "expires_at": {"$gt": moment}}
        with translated():
            found = await self._states.find_one_and_delete(match)
        if found is None:
            return None
        return SignInState(
            id=found["_id"],
            project_id=found["project_id"],
            client_binding=found["party"],
            nonce=found["nonce"],
            code_verifier=found["code_verifier"],
            browser=found["browser"],
            client_state=found["client_state"],
            expires_at=found["expires_at"],
            challenge=found.get("challenge"),
            redirect_to=found.get("redirect_to"),
            provider=found.get("provider"),
            user_id=found.get("user_id"),
        )


def _document(state: SignInState) -> Document:
    names = ("challenge", "redirect_to", "provider", "user_id")
    more = {name: getattr(state, name) for name in names}
    return {
        "_id": state.id,
        "project_id": state.project_id,
        "party": state.client_binding,
        "nonce": state.nonce,
        "code_verifier": state.code_verifier,
        "browser": state.browser,
        "client_state": state.client_state,
        "expires_at": state.expires_at,
        **{name: value for name, value in more.items() if value is not None},
    }
