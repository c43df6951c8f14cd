"""A test gets a project as if no test had been before: nothing is stored of another one, and nothing is remembered."""

from faults.waiting import until
from service.domain.projects.data_versions import Migrator
from service.domain.shares import Shares
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.pool import RESTING, Pool, reachable

# These know of a project by its id how quick its lists are and that its data are of the present version: no more, and the
# next project of that id may know it as well.
HARMLESS = (Migrator, Shares)


async def use(api: Api) -> None:
    """Fills the memories: the project, its rules, a collection, a token with the facts and sets of its user, and
    limits.
    """
    token = (await api.signup()).json()["access_token"]
    named = {"name": "notes", "schema": {"by_id": {"type": "reference", "collection": "users"}}}
    assert (await api.request("POST", "/api/collections", json=named)).status_code == 201
    rules = {"notes": {"read": {"by_id": {"$eq": {"$user": "id"}}}}}
    await api.request("PUT", "/api/rules", json={"collections": rules})
    await api.as_user(token, "GET", "/auth-collections/user")
    await api.as_user(token, "GET", "/api/collections/notes/documents")
    await api.users()


def remembered(services: Services, api: Api) -> list[str]:
    return [each for each in reachable(services, HARMLESS) if isinstance(each, str) and api.project.id in each]


def indexes(api: Api) -> dict[str, list[str]]:
    return {name: sorted(api.database[name].index_information()) for name in api.database.list_collection_names()}


async def test_what_a_test_left_is_gone(pool: Pool, maker: MakeApi, services: Services) -> None:
    # The name of an earlier project may be known elsewhere.
    others = list(pool.free)
    pool.free.clear()
    fresh = await maker(SIGNUP_LIMIT="5")
    pool.free.extend(others)
    new = indexes(fresh)
    await use(fresh)
    altered = await maker()
    altered.database["users"].drop_index("created_at")
    assert remembered(services, fresh)
    await pool.empty()
    # As their jobs do, every ten seconds and every minute.
    await services.traffic.usage.write()
    await services.base.databases.watch.refresh()
    # Work under way is over soon, and is no memory.
    await until(lambda: not remembered(services, fresh), pause=0.1)
    assert not altered.database.list_collection_names()
    made_on_demand = {"collections": ["_id_"], "rules": ["_id_"]}
    assert indexes(fresh) == new | made_on_demand
    assert [each for name in new | made_on_demand for each in fresh.database[name].find()] == []


async def test_a_project_that_was_is_as_new(pool: Pool, maker: MakeApi) -> None:
    for _ in range(RESTING + 1):
        await use(await maker())
    await pool.empty()
    done_with = set(pool.free)
    again = await maker()
    assert again.project.id in done_with
    assert (await again.users()).json()["total"] == 0
    assert (await again.signup()).status_code == 201
