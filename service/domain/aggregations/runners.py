"""The callers of a saved aggregation besides the secret key, and the records that each of them may see.

`run` is `"anyone"`, `"users"`, or a rule on the caller alone.
"""

from typing import Any

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.access.control import AccessControl, require, require_users_read
from service.domain.collections.catalog import Catalogs
from service.domain.projects.lookup import Project
from service.errors import AggregationNotFound, Invalid, Location
from service.query.account_shape import ACCOUNTS
from service.query.aggregate.nodes import AskedAggregation
from service.query.nodes import ListQuery
from service.query.shapes import USERS, Shape
from service.query.tree import Tree
from service.rules.grammar import RuleScope, read_rule
from service.rules.ruleset import CollectionRules
from service.rules.templates import SET_PREFIX, VARIABLE_KINDS, bind
from service.rules.visible import see_shape

NOBODY = None


async def check_run_rule(access: AccessControl, project: Project, rule: Any, place: Location) -> None:
    """Raises Invalid where it is no rule, or one that looks at records."""
    if rule is not NOBODY:
        _, violations = read_rule(rule, place, await _scope(access, project))
        if violations:
            raise Invalid(violations)


async def allow_run(access: AccessControl, caller: ProjectCaller, rule: Any) -> None:
    """Raises AggregationNotFound if only the secret key may run it; Unauthorized and Forbidden by the rule."""
    if isinstance(caller, SecretKeyCaller):
        return
    if rule is NOBODY:
        raise AggregationNotFound
    template, violations = read_rule(rule, (), await _scope(access, caller.project))
    require(False if violations else await _bound(access, caller, template), caller)


async def _bound(access: AccessControl, caller: ProjectCaller, template: Tree) -> Tree:
    compiled = await access.rules(caller.project)
    return bind(template, await access.values(caller, compiled, CollectionRules()))


async def _scope(access: AccessControl, project: Project) -> RuleScope:
    """No fields, and the variables that are the caller's own."""
    known = (await access.rules(project)).rules.variables or VARIABLE_KINDS
    return RuleScope(None, {name: kind for name, kind in known.items() if not name.startswith(SET_PREFIX)})


async def find_shape(
    catalogs: Catalogs, access: AccessControl, caller: ProjectCaller, aggregation: AskedAggregation, *, name: str
) -> Shape:
    """The records of the collection `name`, or of users, as the caller may see them.

    Raises CollectionNotFound; PermissionRequired; and what `AccessControl.permissions` raises, Unauthorized and Forbidden.
    """
    require_users_read(caller, name)
    permissions = await access.permit(caller, name)
    if name == USERS.collection:
        return see_shape(ACCOUNTS, permissions)
    see = access.make_see(caller, name, permissions)
    return await catalogs.shape(caller.project, name, _reach(aggregation), see)


def _reach(aggregation: AskedAggregation) -> ListQuery:
    """A query that reaches as far along relations as the aggregation does."""
    paths = tuple(key.path for key in aggregation.keys if len(key.path) > 1)
    return ListQuery(where=aggregation.where, populate=paths)
