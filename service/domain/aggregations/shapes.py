"""The records that an aggregation looks at, as whoever runs it sees them."""

from collections.abc import Sequence

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs, See, Seen
from service.query.account_shape import ACCOUNTS
from service.query.aggregate.nodes import AskedAggregation
from service.query.nodes import ListQuery
from service.query.shapes import USERS, Shape
from service.rules.permissions import Permissions
from service.rules.visible import see_shape


class AggregationShapes:
    """Finds the shape of a collection, or of users."""

    def __init__(self, catalogs: Catalogs, access: AccessControl) -> None:
        self._catalogs = catalogs
        self._access = access

    async def find(self, caller: ProjectCaller, name: str, aggregation: AskedAggregation) -> Shape:
        """Raises CollectionNotFound; and what `AccessControl.permissions` raises, Unauthorized and Forbidden."""
        if isinstance(caller, SecretKeyCaller):
            see = None
        else:
            permissions = await self._access.permit(caller, name)
            if name == USERS.collection:
                return see_shape(USERS, permissions)
            see = self._see(caller, name, permissions)
        if name == USERS.collection:
            return ACCOUNTS
        return await self._catalogs.shape(caller.project, name, _reach(aggregation), see)

    def _see(self, caller: ProjectCaller, own: str, permissions: Permissions) -> See:
        async def see(names: Sequence[str]) -> Seen:
            known: dict[str, Permissions | None] = {own: permissions}
            for name in names:
                if name not in known:
                    known[name] = await self._access.find_permissions(caller, name)

            def seen(name: str, shape: Shape) -> Shape | None:
                permissions = known.get(name)
                return None if permissions is None or permissions.read is False else see_shape(shape, permissions)

            return seen

        return see


def _reach(aggregation: AskedAggregation) -> ListQuery:
    """A query that reaches as far along relations as the aggregation does."""
    paths = tuple(key.path for key in aggregation.keys if len(key.path) > 1)
    return ListQuery(where=aggregation.where, populate=paths)
