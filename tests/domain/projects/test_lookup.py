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
    assert commands.names == ["aggregate", "find", "find", "find", "find"]
