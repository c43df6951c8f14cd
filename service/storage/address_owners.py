"""The owners of addresses, for requests for mails."""

from dataclasses import dataclass

from service.storage.account_states import read_state
from service.storage.databases import ProjectDatabase
from service.storage.users import STATE


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The user with an address."""

    id: str
    email: str
    is_confirmed: bool


async def find_address_owner(database: ProjectDatabase, email: str) -> AddressOwner | None:
    record = await database.records("users").find({"email": email}, {"email": 1, **STATE})
    return None if record is None else AddressOwner(record["_id"], record["email"], read_state(record).is_confirmed)
