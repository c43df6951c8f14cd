"""Databases of projects that tests are done with, for the next ones: making and removing them is most that MongoDB does here.

A database goes to another test only where its catalog is that of a new project; its records are removed, whatever they are.
"""

import asyncio
import gc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType, ModuleType
from typing import Any

import pytest
from pymongo import MongoClient

from service.domain.cache import Cache
from service.services import Services
from service.storage.databases import ProjectDatabase
from service.storage.feed import FEED

# Work under way after a test may still write into its databases: these are not the next to be used.
RESTING = 4
# The database of a pool's project that is being made.
HAS_INDEXES: ContextVar[str | None] = ContextVar("has_indexes", default=None)

Form = dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]
# The service makes these collections when it first needs them; they stay, empty, if only their `_id` is indexed.
MADE_ON_DEMAND = ("aggregations", "collections", "rules")
PLAIN: tuple[dict[str, Any], list[dict[str, Any]]] = ({}, [{"v": 2, "key": {"_id": 1}, "name": "_id_"}])


# They lead out of the services; work under way is not remembered.
OUTSIDE = (type, ModuleType, FunctionType, asyncio.AbstractEventLoop, asyncio.Future)


def reachable(root: object, outside: tuple[type, ...] = ()) -> Iterator[object]:
    """Every object that `root` leads to, but for what is reached only through instances of `outside`."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        if id(each := waiting.pop()) not in seen and not isinstance(each, OUTSIDE + outside):
            seen.add(id(each))
            yield each
            waiting += gc.get_referents(each)


@contextmanager
def skipping_indexes() -> Iterator[None]:
    """Meanwhile projects of a pool are made without looking for their indexes once more."""
    plain = ProjectDatabase.ensure_indexes

    async def ensure_indexes(database: ProjectDatabase) -> None:
        if HAS_INDEXES.get() != database.database.name:
            await plain(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProjectDatabase, "ensure_indexes", ensure_indexes)
        yield


class Pool:
    """The projects of one test worker. `free` are done with, and as new; `times` it was emptied so often.

    `services` serve them, and remember them by their ids.
    """

    def __init__(self, mongo: MongoClient[dict[str, Any]], prefix: str, services: Services) -> None:
        self._mongo = mongo
        self._prefix = prefix
        self._services = services
        self._caches = [each for each in reachable(services) if isinstance(each, Cache)]
        self.free: deque[str] = deque()
        self._taken: list[str] = []
        self._form: Form | None = None
        self.times = 0

    @contextmanager
    def take(self) -> Iterator[str | None]:
        """The id of a project that was, whose database is as if it were new, to make one; None where there is none."""
        if len(self.free) <= RESTING:
            yield None
            return
        project_id = self.free.popleft()
        self._taken.append(project_id)
        # Late work of the test before may have written since.
        database = self._mongo[self._name(project_id)]
        if database.command("dbStats")["objects"]:
            self._remove_records(database.name, database.list_collection_names())
        token = HAS_INDEXES.set(self._name(project_id))
        try:
            yield project_id
        finally:
            HAS_INDEXES.reset(token)

    def note(self, project_id: str, *, is_plain: bool = True) -> None:
        """Such a project was made just now, and its database has no other user; a plain one is as all new ones."""
        if project_id not in self._taken:
            self._taken.append(project_id)
        if self._form is None and is_plain:
            self._form = self._forms().get(self._name(project_id))

    async def empty(self) -> None:
        """No project is left, nor anything of one, nor anything that is remembered of one."""
        self.times += 1
        await self._services.limits.close()
        self._remove_all()
        # Its waiting events belong to projects that are gone, so they are dropped.
        await self._services.journal.write()

    def _remove_all(self) -> None:
        """Removes the projects and what is remembered of them; no other task runs meanwhile and reads them again."""
        system = self._mongo[f"{self._prefix}system"]
        is_deleting = {each["_id"] for each in system["projects"].find({"deleting": {"$exists": True}}, {"_id": 1})}
        forms = self._forms()
        for project_id in self._taken:
            form = forms.get(name := self._name(project_id))
            if form is not None and project_id not in is_deleting and self._restore(name, form):
                del forms[name]
                self.free.append(project_id)
        self._taken.clear()
        for name in forms:
            self._mongo.drop_database(name)
        # The leader of the feed goes on from its record.
        self._remove_records(system.name, [each for each in system.list_collection_names() if each != FEED])
        for cache in self._caches:
            cache.clear()

    def _name(self, project_id: str) -> str:
        return f"{self._prefix}p_{project_id}"

    def _restore(self, name: str, form: Form) -> bool:
        """True if the database is that of a new project now, or of one that has had rules and collections."""
        wanted = self._form
        if wanted is None or any(form.get(collection) != wanted[collection] for collection in wanted):
            return False
        kept = [each for each in MADE_ON_DEMAND if form.get(each) == PLAIN]
        for collection in form.keys() - wanted.keys() - set(kept):
            self._mongo[name].drop_collection(collection)
        self._remove_records(name, [*wanted, *kept])
        return True

    def _remove_records(self, name: str, collections: list[str]) -> None:
        """One command to see where there are any, which are few places of many."""
        if not collections:
            return
        first, *others = collections
        count: dict[str, Any] = {"$collStats": {"count": {}}}
        united = [{"$unionWith": {"coll": other, "pipeline": [count]}} for other in others]
        database = self._mongo[name]
        for each in database[first].aggregate([count, *united, {"$match": {"count": {"$gt": 0}}}]):
            database[each["ns"].partition(".")[2]].delete_many({})

    def _forms(self) -> dict[str, Form]:
        """For each database of a project, but the free ones: the collections, with their options and indexes."""
        forms: dict[str, Form] = {}
        match = {"db": {"$regex": f"^{self._prefix}p_", "$nin": [self._name(each) for each in self.free]}}
        for each in self._mongo.admin.aggregate([{"$listCatalog": {}}, {"$match": match}]):
            options = {name: value for name, value in each["md"]["options"].items() if name != "uuid"}
            indexes = [index["spec"] for index in each["md"]["indexes"]]
            forms.setdefault(each["db"], {})[each["name"]] = options, indexes
        return forms
