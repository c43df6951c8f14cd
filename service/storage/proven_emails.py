"""What mails prove of a user: `email_verified` of the record, beside `data`, where no body of a request reaches."""

from dataclasses import dataclass

from service.schema.values import now
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


async def change_email(database: ProjectDatabase, user_id: str, email: str) -> None:
    """The user has this address, and has proven it. Raises DuplicateValue."""
    changes = {"$set": {"email": email, "email_verified": True, "updated_at": now()}, "$inc": {"version": 1}}
    await database.records("users").update({"_id": user_id}, changes, {"_id": 1})


async def mark_verified(database: ProjectDatabase, user_id: str, email: str) -> bool:
    """Whether there is such a user with that address. A first proof changes the record's version, for the profile shows it."""
    step = {"$cond": [{"$eq": ["$email_verified", True]}, 0, 1]}
    changes = [{"$set": {"email_verified": True, "version": {"$add": [{"$ifNull": ["$version", 0]}, step]}}}]
    return await database.records("users").update_one({"_id": user_id, "email": email}, changes)
