"""A worker finds a project by one question to the database for all requests that wait for the same answer."""

import asyncio

from service.services import Services
from tests.conftest import Api, CommandRecorder


async def test_all_requests_that_wait_for_a_project_ask_once(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    found = await asyncio.gather(*(services.base.projects.by_api_key(api.key) for _ in range(40)))
    assert len(set(map(id, found))) == 1
    await asyncio.gather(*(services.base.projects.by_id(api.project.id) for _ in range(40)))
    await asyncio.gather(*(services.base.projects.allow_origin("https://nowhere.example") for _ in range(40)))
    # With each project the version of its data is read.
    assert commands.names == ["aggregate", "aggregate", "find", "aggregate", "find"]


async def test_the_last_use_of_a_key_is_written_and_only_for_keys_that_are_there(api: Api, services: Services) -> None:
    made = await services.base.keys.create(api.project.id, "secret", "a job")
    assert (await api.http.get("/auth-collections/users", headers={"x-api-key": made.key})).status_code == 200
    await services.base.projects.write_key_uses()
    used = {entry.id: entry.last_used_at for entry in await services.base.keys.list(api.project.id)}
    assert used[made.id] is not None
    assert (
        await api.http.get("/auth-collections/users", headers={"x-api-key": f"{made.key[:-1]}_"})
    ).status_code == 401
    await services.base.projects.write_key_uses()
    await services.base.keys.revoke(api.project.id, made.id)
    await services.base.projects.write_key_uses()
    assert made.id not in {entry.id for entry in await services.base.keys.list(api.project.id)}
