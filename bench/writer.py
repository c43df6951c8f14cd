"""A process that changes documents at a steady rate and remembers when each change was acknowledged."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from pymongo import MongoClient
from pymongo.write_concern import WriteConcern


@dataclass(frozen=True, slots=True)
class Plan:
    """`events` changes, `rate` a second or as go (0), of the documents `ids` in turn. The numbers begin at `first`."""

    uri: str
    database: str
    collection: str
    ids: Sequence[str]
    events: int
    rate: float
    first: int = 1


def write(plan: Plan) -> list[float]:
    """The moments of acknowledgement, on the clock that all processes of a machine share."""
    acknowledged: list[float] = []
    with MongoClient[dict[str, Any]](plan.uri) as client:
        concern = WriteConcern("majority")
        records = client[plan.database].get_collection(plan.collection, write_concern=concern)
        started = perf_counter()
        for number in range(plan.events):
            if plan.rate and (wait := started + number / plan.rate - perf_counter()) > 0:
                sleep(wait)
            change = {"$set": {"data.number": plan.first + number}, "$inc": {"version": 1}}
            records.update_one({"_id": plan.ids[number % len(plan.ids)]}, change)
            acknowledged.append(perf_counter())
    return acknowledged
