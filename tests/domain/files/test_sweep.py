"""The sweep of all projects, by hand and on the timer; and the demo users' pictures, which are files too."""

from xml.etree import ElementTree

import httpx2
import pytest

from faults.samples import stored
from service.domain.accounts.passwords import Passwords
from service.domain.files.sweep import sweep_files, sweep_projects
from service.domain.files.types import FILE_TYPES
from service.domain.projects.admin import ProjectAdmin
from service.seeding.demo.pictures import add_pictures, draw_picture
from service.seeding.demo.project import ensure_demo
from service.services import Services
from service.storage.files.deletions import Swept
from tests.conftest import BASE_URL, Api, MakeApi


def abandoned(api: Api) -> None:
    """What a replacement leaves that was cut short between the record and the removal of the old file."""
    api.database["files.files"].insert_one({"_id": "x.png"})
    api.database["files.chunks"].insert_one({"files_id": "x.png", "n": 0, "data": b"x"})
    api.database["uploads"].insert_one({"files": ["x.png"], "condemned": True})


async def test_a_sweep_reaches_every_project(services: Services, make_api: MakeApi) -> None:
    projects = [await make_api() for _ in range(3)]
    for api in projects[:2]:
        abandoned(api)
    swept = await sweep_projects(services.databases)
    assert [swept[api.project.id] for api in projects] == [Swept(1, 1), Swept(1, 1), Swept(0, 0)]
    assert [stored(api.database) for api in projects] == [{}, {}, {}]


async def test_n12_a_project_whose_sweep_fails_does_not_stop_the_others(services: Services, make_api: MakeApi) -> None:
    projects = sorted([await make_api() for _ in range(3)], key=lambda api: api.project.id)
    for api in projects:
        abandoned(api)
    # Not what the service writes: an intent that names no files.
    projects[0].database["uploads"].update_one({}, {"$unset": {"files": 1}})
    with pytest.raises(KeyError):
        await sweep_files(services.databases)
    assert [stored(api.database) for api in projects[1:]] == [{}, {}]
    assert stored(projects[0].database) != {}


async def test_the_service_sweeps_on_its_own(services: Services, api: Api) -> None:
    abandoned(api)
    (job,) = (job for job in services.jobs.jobs if job.name == "sweep_files")
    assert (job.every, job.for_deployment) == (600, True)
    await job.run()
    assert stored(api.database) == {}


async def test_every_demo_user_has_a_picture(admin: ProjectAdmin, make_api: MakeApi, http: httpx2.AsyncClient) -> None:
    passwords = Passwords(4)
    demo = await ensure_demo(admin, passwords, add_pictures)
    passwords.close()
    for user in await demo.project.users.find_first(100):
        answer = await http.get(user.data["profile_picture"].removeprefix(BASE_URL))
        assert answer.headers["content-type"] == "image/svg+xml"
        assert ElementTree.fromstring(answer.content).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own


@pytest.mark.parametrize("name", ["Valjean", "Mlle.Vaubois", "Woman2", "<&>", "Mme.de.R", "-"])
def test_a_drawn_picture_is_accepted_by_our_own_check(name: str) -> None:
    check = FILE_TYPES["svg"].check()
    check.feed(draw_picture(name, 7))
    check.finish()
