"""The owners of addresses, for requests for mails."""

from dataclasses import dataclass

from service.storage.databases import ProjectDatabase


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The user with an address."""

    id: str
    email: str
    email_verified: bool


async def find_address_owner(database: ProjectDatabase, email: str) -> AddressOwner | None:
    record = await database.records("users").find({"email": email}, {"email": 1, "email_verified": 1})
    return None if record is None else AddressOwner(record["_id"], record["email"], record.get("email_verified", False))
