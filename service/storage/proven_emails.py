"""What mails prove of a user: `email_verified` of the record, beside `data`, where no body of a request reaches."""

from dataclasses import dataclass

from service.storage.databases import ProjectDatabase


@dataclass(frozen=True, slots=True)
class Account:
    """Whose address it is."""

    id: str
    email: str
    email_verified: bool


async def find_account(database: ProjectDatabase, email: str) -> Account | None:
    record = await database.records("users").find({"email": email}, {"email": 1, "email_verified": 1})
    return None if record is None else Account(record["_id"], record["email"], record.get("email_verified", False))


async def mark_verified(database: ProjectDatabase, user_id: str, email: str) -> bool:
    """Whether there is such a user with that address."""
    return await database.records("users").update_one(
        {"_id": user_id, "email": email}, {"$set": {"email_verified": True}}
    )
