"""The sweep of all projects, by hand and on the timer; and the demo users' pictures, which are files too."""

from xml.etree import ElementTree

import httpx2
import pytest

from faults.samples import stored
from service.cli.demo import MANIFEST
from service.domain.files.sweep import sweep_files, sweep_projects
from service.services import Services
from service.storage.files.deletions import Swept
from tests.conftest import BASE_URL, Api, MakeApi
from tests.demo import seed_demo


def abandoned(api: Api) -> None:
    """The state after a replacement that was interrupted between the record and the removal of the old file."""
    api.database["files.files"].insert_one({"_id": "x.png"})
    api.database["files.chunks"].insert_one({"files_id": "x.png", "n": 0, "data": b"x"})
    api.database["uploads"].insert_one({"files": ["x.png"], "condemned": True})


async def test_a_sweep_reaches_every_project(services: Services, make_api: MakeApi) -> None:
    projects = [await make_api() for _ in range(3)]
    for api in projects[:2]:
        abandoned(api)
    swept = await sweep_projects(services.base.databases)
    assert [swept[api.project.id] for api in projects] == [Swept(1, 1), Swept(1, 1), Swept(0, 0)]
    assert [stored(api.database) for api in projects] == [{}, {}, {}]


async def test_n12_a_project_whose_sweep_fails_does_not_stop_the_others(services: Services, make_api: MakeApi) -> None:
    projects = sorted([await make_api() for _ in range(3)], key=lambda api: api.project.id)
    for api in projects:
        abandoned(api)
    # Not what the service writes: an intent that names no files.
    projects[0].database["uploads"].update_one({}, {"$unset": {"files": 1}})
    with pytest.raises(KeyError):
        await sweep_files(services.base.databases)
    assert [stored(api.database) for api in projects[1:]] == [{}, {}]
    assert stored(projects[0].database) != {}


async def test_the_service_sweeps_on_its_own(services: Services, api: Api) -> None:
    abandoned(api)
    (job,) = (job for job in services.jobs.jobs if job.name == "sweep_files")
    assert (job.every, job.for_deployment) == (600, True)
    await job.run()
    assert stored(api.database) == {}


async def test_every_demo_user_has_a_picture(services: Services, emptied: None, http: httpx2.AsyncClient) -> None:
    _, report = await seed_demo(services, collections={})
    assert {kind: dict(counter) for kind, counter in report.counts.items()} == {
        "project": {"created": 1},
        "users": {"created": 77},
        "files": {"created": 77},
    }
    demo = await services.base.admin.find("demo")
    users = await demo.users.find_by_emails([f"{path.stem}@example.com" for path in MANIFEST.parent.glob("pictures/*")])
    assert len(users) == 77
    for user in users.values():
        answer = await http.get(user.user.data["profile_picture"].removeprefix(BASE_URL))
        assert answer.headers["content-type"] == "image/svg+xml"
        assert ElementTree.fromstring(answer.content).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
