"""A live query → the records that it finds and its caller may read, in a form that judges them one by one."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.domain.access.caller import ProjectCaller
from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs
from service.domain.files.protection import FileProtection
from service.domain.projects.lookup import Projects
from service.domain.realtime.channels import Channel
from service.domain.realtime.forms import FORM_OF_ACCOUNTS, FORM_OF_DOCUMENTS, FORM_OF_USERS, RecordForm
from service.domain.realtime.sources import WatchedSet
from service.errors import NotLive
from service.query.account_shape import ACCOUNTS
from service.query.bind import bind
from service.query.commands import page
from service.query.live import find_reason, find_reason_of_rule
from service.query.nodes import BoundQuery, Count, ListQuery
from service.query.populate import ShowRow
from service.query.shapes import NESTED, USERS
from service.query.tree import Filter, Tree, all_of, at_path, to_filter
from service.rules.compiled import CompiledRules
from service.rules.permissions import Permissions
from service.rules.templates import NOW, variables_of
from service.rules.visible import Seen, see_shape
from service.storage.change_feed import Namespace
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase

Parse = Callable[[], ListQuery]
NOT_DECLARED = "The collection is not live; its servers make it so with realtime: true"
NOT_SET = "Users are not live in this project; its operator makes them so with REALTIME_USERS"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Sources:
    """The collections that decide which records a caller may read: the one of the records, and those of its sets."""

    namespace: Namespace
    sets: Sequence[WatchedSet]

    def namespaces(self) -> list[Namespace]:
        return [self.namespace, *(watched.namespace for watched in self.sets)]


@dataclass(frozen=True, slots=True, eq=False)
class BoundSubscription(Sources):
    """A query bound to one caller: the sources of its records, their form, and the query for the first of them.

    Two with the same `key` find the same records, in the same form.
    """

    database: ProjectDatabase
    tree: Tree
    query: BoundQuery
    form: RecordForm
    show: ShowRow | None
    key: str

    def make_channel(self) -> Channel:
        return Channel(self.key, self.tree, self.form, self.show, self.query.view)

    def wanted_at(self, path: str) -> Filter:
        """MongoDB's filter of the records, as they are at that path of a change."""
        return to_filter(at_path(self.tree, path))

    def command(self) -> dict[str, Any]:
        """The query for the first records, and one more to see if there are more."""
        return page(replace(self.query, limit=self.query.limit + 1, count=Count.NONE))


class Binder:
    """Binds queries by the rules and the definitions of their project."""

    def __init__(
        self, access: AccessControl, catalogs: Catalogs, projects: Projects, protection: FileProtection
    ) -> None:
        self._access = access
        self._protection = protection
        self._catalogs = catalogs
        self._projects = projects

    async def find_sources(self, caller: ProjectCaller, name: str, parse: Parse) -> Sources:
        """The sources of every query of a collection, by cached rights. Raises what `bind` raises.

        An invalid query of a live collection is found by `bind` alone, which costs ten times as much.
        """
        permissions = await self._access.permit(caller, name)
        if name != USERS.collection and not (await self._catalogs.get(caller.project, name)).realtime:
            return await self.bind(caller, name, parse)
        collection = name if name == USERS.collection else mongo_collection_name(name)
        namespace = (caller.project.database.database.name, collection)
        return Sources(namespace, await self._find_sets(caller, name, permissions))

    async def bind(self, caller: ProjectCaller, name: str, parse: Parse) -> BoundSubscription:
        """Raises what a list raises for the same caller, collection and query; and NotLive."""
        permissions = await self._access.permit(caller, name)
        if name == USERS.collection:
            return await self._bind_users(caller, parse, permissions)
        collection = await self._catalogs.get(caller.project, name)
        query = _read(parse)
        if not collection.realtime:
            collection = await self._catalogs.refresh(caller.project, name)

        async def see(_names: Sequence[str]) -> Seen:
            return lambda _name, shape: see_shape(shape, permissions)

        bound = bind(query, await self._catalogs.shape(caller.project, collection.name, query, see))
        if not collection.realtime:
            raise NotLive(NOT_DECLARED)
        files = sorted((name, field.protected) for name, field in collection.files.items())
        # A collection that was deleted and made again has other documents, and followers never saw the deletions.
        said = (collection.created_at, files)
        return await self._bound(caller, name, bound, permissions, form=FORM_OF_DOCUMENTS, said=said)

    async def _bind_users(self, caller: ProjectCaller, parse: Parse, permissions: Permissions) -> BoundSubscription:
        """Each user sees their own record beyond the rules, so no two users share a key."""
        query = bind(_read(parse, ACCOUNTS.nested), see_shape(ACCOUNTS, permissions))
        # The caller's project is as it was when the socket was opened.
        project = await self._projects.by_id(caller.project.id)
        if not project.settings.realtime_users:
            raise NotLive(NOT_SET)
        protected = sorted(await self._access.protected_fields(project))
        said = (protected, "server" if permissions.is_everything else permissions.user_id())
        form = FORM_OF_ACCOUNTS if permissions.is_everything else FORM_OF_USERS
        return await self._bound(caller, USERS.collection, query, permissions, form=form, said=said)

    async def _bound(
        self,
        caller: ProjectCaller,
        name: str,
        query: BoundQuery,
        permissions: Permissions,
        *,
        form: RecordForm,
        said: object,
    ) -> BoundSubscription:
        """`said` is what decides about the form beside the rules. Raises NotLive."""
        database, tree = caller.project.database, all_of(query.match.trees)
        namespace = (database.database.name, query.collection)
        if not permissions.is_everything:
            _check_rules(await self._access.rules(caller.project), name, permissions)
        sets = await self._find_sets(caller, name, permissions)
        show = (await self._protection.show(caller.project, [query.collection]))(query.collection)
        return BoundSubscription(
            namespace, sets, database, tree, query, form, show, _key(namespace, tree, permissions.readable, said)
        )

    async def _find_sets(self, caller: ProjectCaller, name: str, permissions: Permissions) -> Sequence[WatchedSet]:
        """The sets that the rules of a collection use for this caller."""
        if permissions.is_everything:
            return ()
        compiled = await self._access.rules(caller.project)
        rules = compiled.rules.of(name)
        if rules is None:
            return ()
        database = caller.project.database.database.name
        return [
            WatchedSet((database, compiled.rules.sets[each].collection), where, repr(where))
            for each in compiled.needs_of(name, rules).sets
            if (where := await self._access.set_condition(caller, compiled, each)) is not False
        ]


def _check_rules(compiled: CompiledRules, name: str, permissions: Permissions) -> None:
    """Raises NotLive if a change elsewhere, or the time of day, decides who may read a record."""
    rules = compiled.rules.of(name)
    if rules is None:
        return
    templates = [rules.read, *(each.read for each in rules.fields.values() if each.read is not None)]
    if any(each.name == NOW for template in templates for each in variables_of(template)):
        raise NotLive("The rules of this collection look at the time")
    for tree in (permissions.read, *permissions.readable.values()):
        if (reason := find_reason_of_rule(tree)) is not None:
            raise NotLive(reason)


def _key(namespace: Namespace, tree: Tree, readable: Mapping[str, Tree], said: object) -> str:
    """1 and true are equal in Python, and their texts are not."""
    text = repr((namespace, tree, sorted(readable.items(), key=repr), said))
    return hashlib.sha256(text.encode()).hexdigest()


def _read(parse: Parse, nested: frozenset[str] = NESTED) -> ListQuery:
    """Raises NotLive where the query cannot be judged record by record."""
    query = parse()
    if (reason := find_reason(query, nested)) is not None:
        raise NotLive(reason)
    return query
