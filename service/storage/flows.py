"""Flows: a code or a link that was mailed to a user. A flow is its own mail, so the two are stored in one write.

`system.flows`: {_id, project_id, purpose, account, created_at, expires_at, user_id?, address?, link?, code?, left?,
challenge?, redirect_to?, slot?, slot_until?, mail?: {kind, status, attempts, host?, next_at?, locale, sealed?}}. No
secret is stored in clear. The TTL index only cleans up; the stored times decide.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel, ReturnDocument

from service.storage.client import ClientSession, Document
from service.storage.databases import Databases, ProjectDatabase
from service.storage.records import translated

FLOW_INDEXES = (
    IndexModel([("link", ASCENDING)], name="link", unique=True, partialFilterExpression={"link": {"$exists": True}}),
    # One mail for each account and purpose within its time.
    IndexModel([("slot", ASCENDING)], name="slot", unique=True, partialFilterExpression={"slot": {"$exists": True}}),
    IndexModel(
        [("mail.next_at", ASCENDING)], name="next_at", partialFilterExpression={"mail.next_at": {"$exists": True}}
    ),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    IndexModel([("user_id", ASCENDING)], name="user_id", sparse=True),
    IndexModel([("project_id", ASCENDING), ("created_at", DESCENDING)], name="created_at"),
)
QUEUED, KEPT, SENT, FAILED = "queued", "kept", "sent", "failed"


@dataclass(frozen=True, slots=True)
class MailPage:
    """Some of a project's flows with a mail, newest first, and how many there are."""

    records: Sequence[Document]
    total: int


class FlowStore:
    """Every step is one command on one flow, unless it says otherwise. Raises the errors of `records.translated`."""

    def __init__(self, databases: Databases) -> None:
        self._flows = databases.system["flows"]

    async def open(self, record: Document, session: ClientSession | None = None, *, is_first: bool = False) -> Document:
        """Stores `record`, unless its `slot` is taken: then returns the flow that has it. Two commands.

        A record that `is_first` takes the slot from the flow that has it.
        """
        until = {} if is_first else {"slot_until": {"$lte": record["created_at"]}}
        held = {"slot": record["slot"], **until}
        with translated("store a flow"):
            await self._flows.update_one(held, {"$unset": {"slot": "", "slot_until": ""}}, session=session)
            found: Any = await self._flows.find_one_and_update(
                # By the unique field alone, so that the server itself repeats an upsert that lost a race.
                {"slot": record["slot"]},
                {"$setOnInsert": {name: value for name, value in record.items() if name != "slot"}},
                upsert=True,
                projection={"expires_at": 1, "created_at": 1},
                return_document=ReturnDocument.AFTER,
                session=session,
            )
        return dict(found)

    async def insert(self, record: Document, session: ClientSession | None = None) -> None:
        with translated("store a flow"):
            await self._flows.insert_one(record, session=session)

    async def find(self, match: Document, moment: datetime) -> Document | None:
        """A flow whose time is not over."""
        with translated():
            return await self._flows.find_one({**match, "expires_at": {"$gt": moment}})

    async def judge(self, flow_id: str, code: str, moment: datetime) -> bool:
        """True if `code` is the flow's; a wrong one costs a try. Without tries left, every code is refused."""
        match: Document = {"_id": flow_id, "left": {"$gt": 0}, "expires_at": {"$gt": moment}}
        left = {"$cond": [{"$eq": ["$code", code]}, "$left", {"$subtract": ["$left", 1]}]}
        with translated():
            found: Any = await self._flows.find_one_and_update(match, [{"$set": {"left": left}}], {"code": 1})
        return found is not None and found.get("code") == code

    async def take_try(self, match: Document, moment: datetime) -> Document | None:
        """A flow with a try left; the try is taken, for a right code and for a wrong one."""
        wanted = {**match, "left": {"$gt": 0}, "expires_at": {"$gt": moment}}
        with translated():
            return await self._flows.find_one_and_update(wanted, {"$inc": {"left": -1}})

    async def spend(self, flow_id: str, moment: datetime, session: ClientSession | None) -> bool:
        """Deletes the flow. Returns True for exactly one concurrent caller, once its transaction is committed."""
        match: Document = {"_id": flow_id, "expires_at": {"$gt": moment}}
        with translated():
            return (await self._flows.delete_one(match, session=session)).deleted_count == 1

    async def change(self, flow_id: str, changes: Document, session: ClientSession | None) -> bool:
        """Returns False if there is no such flow."""
        with translated():
            return (await self._flows.update_one({"_id": flow_id}, changes, session=session)).matched_count == 1

    async def confirm_part(
        self, match: Document, part: str, moment: datetime, session: ClientSession | None
    ) -> Document | None:
        """A flow that waited for `part`, and does no longer, as it is now. The code and the link of "new" are spent by it."""
        changes: Document = {"$pull": {"state.waits": part}}
        if part == "new":
            changes |= {"$set": {"left": 0}, "$unset": {"link": ""}}
        wanted = {**match, "state.waits": part, "expires_at": {"$gt": moment}}
        with translated():
            return await self._flows.find_one_and_update(
                wanted, changes, return_document=ReturnDocument.AFTER, session=session
            )

    async def void(self, database: ProjectDatabase, match: Document) -> None:
        """Removes flows, as part of the database's transaction if it has one."""
        with translated():
            await self._flows.delete_many(match, session=database.session)

    async def claim(self, moment: datetime, until: datetime, *, without: Collection[str]) -> Document | None:
        """A flow whose mail is due, which is the caller's until that time; none of a host that is `without`."""
        match: Document = {"mail.next_at": {"$lte": moment}, "mail.host": {"$nin": list(without)}}
        changes: Document = {"$set": {"mail.next_at": until}, "$inc": {"mail.attempts": 1}}
        with translated():
            return await self._flows.find_one_and_update(
                match, changes, sort=[("mail.next_at", ASCENDING)], return_document=ReturnDocument.AFTER
            )

    async def note_sent(self, flow_id: str, expires_at: datetime) -> None:
        """The mail is gone, and what it was made from with it. From now on the code and the link live until `expires_at`."""
        changes: Document = {
            "$set": {"mail.status": SENT, "expires_at": expires_at},
            "$unset": {"mail.next_at": "", "mail.sealed": ""},
        }
        with translated():
            await self._flows.update_one({"_id": flow_id}, changes)

    async def note_failed(self, flow_id: str, status: str, attempts: int) -> None:
        """Ends the tries of a mail, until a request renews it.

        A mail that was claimed again since then stays claimed.
        """
        changes: Document = {"$set": {"mail.status": status}, "$unset": {"mail.next_at": ""}}
        with translated():
            await self._flows.update_one({"_id": flow_id, "mail.attempts": attempts}, changes)

    async def postpone(self, flow_id: str, next_at: datetime, attempts: int) -> None:
        """It is tried again then."""
        with translated():
            match: Document = {"_id": flow_id, "mail.attempts": attempts}
            await self._flows.update_one(match, {"$set": {"mail.next_at": next_at}})

    async def queue(self, project_id: str, flow_id: str, moment: datetime, life: timedelta) -> bool:
        """Has a mail tried at once that failed, waits or was kept. False where there is no such one."""
        match: Document = {"_id": flow_id, "project_id": project_id, "mail.status": {"$in": [QUEUED, KEPT, FAILED]}}
        changes: Document = {
            "$set": {"mail.status": QUEUED, "mail.next_at": moment, "created_at": moment, "expires_at": moment + life}
        }
        with translated():
            return (await self._flows.update_one(match, changes)).matched_count == 1

    async def mails(self, match: Document, *, limit: int, offset: int) -> MailPage:
        """Newest first. Two commands."""
        wanted = {**match, "mail": {"$exists": True}}
        with translated():
            total = await self._flows.count_documents(wanted)
            found = self._flows.find(wanted).sort([("created_at", DESCENDING), ("_id", ASCENDING)])
            return MailPage(await found.skip(offset).limit(limit).to_list(), total)


async def ensure_flow_indexes(databases: Databases) -> None:
    with translated():
        await databases.system["flows"].create_indexes(list(FLOW_INDEXES))


def new_record(
    flow_id: str, *, project_id: str, purpose: str, account: str, created_at: datetime, expires_at: datetime
) -> Document:
    """The fields of every flow."""
    return {
        "_id": flow_id,
        "project_id": project_id,
        "purpose": purpose,
        "account": account,
        "created_at": created_at,
        "expires_at": expires_at,
    }
