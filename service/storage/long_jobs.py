"""Long jobs of projects: `jobs` {_id, kind, project_id, state, open?, params, phase, progress, result, error, warnings, by,
attempt, holder, until, created_at, started_at, ended_at, expires_at}.

`open` is true until the job has ended: a unique index on it allows one open job of a project. The process that runs a
job has a lease on it, `holder` and `until`, by MongoDB's clock.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pymongo import ASCENDING, IndexModel, ReturnDocument

from service.errors import DuplicateValue, ProjectBusy
from service.schema.values import now
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.leases import LONG_AGO
from service.storage.newest import NEWEST, list_newest
from service.storage.records import Records, translated
from service.storage.transactions import in_transaction

JOBS = "jobs"
LEASE_SECONDS = 30
KEPT = timedelta(days=90)
QUEUED, RUNNING, CANCELLING = "queued", "running", "cancelling"
JOB_INDEXES = (
    IndexModel([("project_id", ASCENDING)], name="open", unique=True, partialFilterExpression={"open": True}),
    IndexModel(
        [("open", ASCENDING), ("created_at", ASCENDING)], name="waiting", partialFilterExpression={"open": True}
    ),
    IndexModel([("project_id", ASCENDING), *NEWEST], name="project_id"),
    IndexModel([*NEWEST], name="created_at"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)
_UNTIL = {"$add": ["$$NOW", LEASE_SECONDS * 1000]}
_IS_FREE = {"$lte": [{"$ifNull": ["$until", LONG_AGO]}, "$$NOW"]}


class JobStore:
    """Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases) -> None:
        self._client = databases.client
        self._jobs = databases.system[JOBS]

    async def insert(self, job: Document, beside: Sequence[tuple[str, Document]] = ()) -> None:
        """Stores a queued job, and `beside` it records of other collections of the system, all or nothing.

        Raises ProjectBusy, with the id of the other one, where the project has an open job.
        """
        system = self._jobs.database

        async def write(session: ClientSession) -> None:
            await self._jobs.insert_one({**job, "state": QUEUED, "open": True, "attempt": 0}, session=session)
            for collection, record in beside:
                await system[collection].insert_one(record, session=session)

        try:
            await in_transaction(self._client, write)
        except DuplicateValue:
            raise await self._busy(job["project_id"]) from None

    async def _busy(self, project_id: str) -> ProjectBusy:
        other = await self.find({"project_id": project_id, "open": True}) or {}
        return ProjectBusy("The project has another job that has not ended", job_id=other.get("_id"))

    async def find(self, match: Document) -> Document | None:
        return await Records(self._jobs).find(match)

    async def page(
        self, match: Document, *, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Mapping[str, Any]]:
        """At most `limit` jobs, the newest first. Raises QueryTooSlow."""
        return await list_newest(Records(self._jobs), match, after=after, limit=limit)

    async def claim(self, holder: str, kinds: Collection[str], job_id: str | None = None) -> Document | None:
        """The oldest open job of these kinds that no process runs, which `holder` runs from now on.

        With `job_id` it is that job, or none.
        """
        match: Document = {"open": True, "kind": {"$in": list(kinds)}, "$expr": _IS_FREE}
        begun = {"$ifNull": ["$started_at", "$$NOW"]}
        state = {"$cond": [{"$eq": ["$state", CANCELLING]}, CANCELLING, RUNNING]}
        lease = {"holder": holder, "until": _UNTIL, "state": state, "started_at": begun}
        with translated("claim a job"):
            found: Document | None = await self._jobs.find_one_and_update(
                match if job_id is None else {"_id": job_id, **match},
                [{"$set": {**lease, "attempt": {"$add": ["$attempt", 1]}}}],
                sort=[("created_at", ASCENDING)],
                return_document=ReturnDocument.AFTER,
            )
        return found

    async def renew(self, job_id: str, holder: str, progress: Document) -> str | None:
        """Stores the progress. Returns the state of the job, and None where another process has it, or it has ended."""
        with translated("keep a job"):
            found = await self._jobs.find_one_and_update(
                {"_id": job_id, "holder": holder, "open": True},
                [{"$set": {"until": _UNTIL, **{name: {"$literal": value} for name, value in progress.items()}}}],
                projection={"state": 1},
            )
        return found["state"] if found else None

    async def keep_result(self, job_id: str, result: Document, session: ClientSession) -> None:
        """Stores the result before the end of the job, in the transaction that it comes from."""
        with translated("keep a job"):
            await self._jobs.update_one({"_id": job_id}, {"$set": {"result": result}}, session=session)

    async def end(self, job_id: str, holder: str, outcome: Document) -> bool:
        """Stores the outcome of a job that `holder` has run. Returns False where another process has it."""
        match: Document = {"_id": job_id, "holder": holder, "open": True}
        return await self._end(match, outcome)

    async def cancel(self, job_id: str) -> bool:
        """Ends a job that waits, and asks a running one to end. Returns False for one that has ended."""
        if await self._end({"_id": job_id, "state": QUEUED}, {"state": "cancelled"}):
            return True
        with translated("cancel a job"):
            match: Document = {"_id": job_id, "state": {"$in": [RUNNING, CANCELLING]}}
            return bool((await self._jobs.update_one(match, {"$set": {"state": CANCELLING}})).matched_count)

    async def _end(self, match: Document, outcome: Document) -> bool:
        moment: datetime = now()
        ended = {**outcome, "ended_at": moment, "expires_at": moment + KEPT}
        with translated("end a job"):
            changes = {"$set": ended, "$unset": {"open": "", "holder": "", "until": "", "params": ""}}
            return bool((await self._jobs.update_one(match, changes)).modified_count)


async def ensure_job_indexes(databases: Databases) -> None:
    with translated("prepare jobs"):
        await databases.system[JOBS].create_indexes(list(JOB_INDEXES))
