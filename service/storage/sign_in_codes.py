"""Codes with which a page gets the tokens of a user that signed in: one document each, used once.

They are kept beside the states of pending sign-ins, under names of their own. The TTL index only cleans up; the stored
time decides.
"""

from dataclasses import asdict, dataclass, field
from datetime import datetime

from service.storage.databases import Databases
from service.storage.records import translated
from service.storage.users import Identity


@dataclass(frozen=True, slots=True)
class SignInCode:
    """A recognized user, with the method (`amr`); the code works for the client that has the verifier of `challenge`.

    `id` is a digest of the code, `version` the user's at the time. After a click on the link of a mail there is its
    `flow_id` in place of the user, who is recognized only when the code is used. With an `identity` no user was
    recognized: it is the identity that the user asked to link.
    """

    id: str = field(repr=False)
    project_id: str
    challenge: str = field(repr=False)
    expires_at: datetime
    user_id: str = ""
    version: int = 0
    amr: tuple[str, ...] = ()
    flow_id: str | None = None
    identity: Identity | None = None


class SignInCodes:
    """Raises the errors of `records.translated`."""

    __slots__ = ("_codes",)

    def __init__(self, databases: Databases) -> None:
        self._codes = databases.system["sign_in_states"]

    async def insert(self, code: SignInCode) -> None:
        with translated():
            await self._codes.insert_one(
                {
                    "_id": code.id,
                    "project_id": code.project_id,
                    "user_id": code.user_id,
                    "version": code.version,
                    "amr": list(code.amr),
                    "challenge": code.challenge,
                    "expires_at": code.expires_at,
                    "flow_id": code.flow_id,
                    "identity": asdict(code.identity) if code.identity else None,
                }
            )

    async def take(self, id_: str, *, project_id: str, moment: datetime) -> SignInCode | None:
        """Finds and deletes, in one step. Exactly one concurrent caller gets it; another project's code stays."""
        with translated():
            found = await self._codes.find_one_and_delete(
                {"_id": id_, "project_id": project_id, "expires_at": {"$gt": moment}}
            )
        if found is None:
            return None
        return SignInCode(
            id=found["_id"],
            project_id=found["project_id"],
            user_id=found["user_id"],
            version=found["version"],
            amr=tuple(found["amr"]),
            challenge=found["challenge"],
            expires_at=found["expires_at"],
            flow_id=found.get("flow_id"),
            identity=Identity(**identity) if (identity := found.get("identity")) else None,
        )
