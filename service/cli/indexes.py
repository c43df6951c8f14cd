"""The checks of `auth-collections check --indexes PROJECT`: slow queries, and read rules, that no index serves."""

import json

from service.checks import Finding
from service.domain.access.agreement import bind_rules, find_shapes
from service.domain.projects.admin import ProjectAdmin
from service.rules.advice import Advice, advise_indexes
from service.storage.collections import CollectionStore
from service.storage.databases import Databases, ProjectDatabase
from service.storage.query_watch import SlowQuery
from service.storage.rules import find_rules

# Operators that an index on their field serves.
SERVED = frozenset({"$eq", "$in", "$gt", "$gte", "$lt", "$lte", "$type"})
SCANS, SORTS = "COLLSCAN", "SORT"


async def check_indexes(databases: Databases, admin: ProjectAdmin, project_id: str) -> list[Finding]:
    """The slow queries of a project, the slowest first, then its read rules. Raises ProjectNotFound."""
    database = (await admin.find(project_id)).database
    slow = [describe_query(each) for each in await databases.watch.find(database.database.name)]
    return [*(slow or [Finding(True, "slow queries", "no slow queries")]), *await _check_rules(database)]


def describe_query(query: SlowQuery) -> Finding:
    """WRONG if MongoDB reads all records or all keys of an index, or sorts the found records itself."""
    shape, stages = query.shape, query.plan.split()
    name = shape.collection.removeprefix("c_")
    asked = f"filter {', '.join(shape.filter) or 'none'}; sort {', '.join(shape.sort) or 'none'}"
    seen = f"{query.worst * 1000:.0f} ms at worst, last {query.at:%Y-%m-%d %H:%M}; plan {query.plan}"
    if SCANS not in stages and SORTS not in stages and (is_served(query) or not shape.filter):
        return Finding(True, name, f"{name}: {asked}: {seen}; indexes serve it, so fewer records must match")
    return Finding(False, name, f"{name}: {asked}: {seen}; {_remedy(query)}")


def is_served(query: SlowQuery) -> bool:
    """True if an index can serve a condition of the query; for others MongoDB reads all keys of one."""
    return any(each.rpartition(" ")[2] in SERVED for each in query.shape.filter)


def _remedy(query: SlowQuery) -> str:
    """For users, and for the fields of a collection, the wildcard index serves conditions; only sorts lack one."""
    shape, stages = query.shape, query.plan.split()
    field = shape.sort[0].partition(" ")[0] if shape.sort else ""
    if SORTS in stages and field.startswith("data.") and shape.collection.startswith("c_"):
        return f'declare "index": true on {field.removeprefix("data.")}, or filter by it as well'
    if is_served(query):
        return "run `auth-collections check`: an index of the service may be missing"
    return "no index serves these operators; add a condition with _eq, _in, _gt or _lt"


async def _check_rules(database: ProjectDatabase) -> list[Finding]:
    document = json.loads((await find_rules(database)).text)
    checked = await bind_rules(document, await find_shapes(database), is_new=False)
    store = CollectionStore(database)
    advice = advise_indexes(checked.rules, checked.indexes, checked.fields)
    lacking = [each for each in advice if not await store.has_rule_index(each.collection, each.fields)]
    return [_describe_advice(each) for each in lacking] or [
        Finding(True, "rules", "read rules have the indexes they need")
    ]


def _describe_advice(advice: Advice) -> Finding:
    fields = ", ".join(advice.fields)
    return Finding(
        False,
        advice.collection,
        f"{advice.collection}: {advice.because}, and no index on ({fields}) serves it; save the rules with ?build_indexes=true",
    )
