"""Leftovers of deleted collections go after an hour, and a collection that was created again stays."""

from datetime import UTC, datetime, timedelta

from service.services import Services
from service.storage.closed_collections import CLOSED_FOR, sweep_closed
from service.storage.collections import CLOSED
from tests.conftest import Api

AT_ONCE = timedelta(0)


def collections(api: Api) -> list[str]:
    return sorted(name for name in api.database.list_collection_names() if name.startswith(("c_", "closed_")))


async def declare(api: Api, name: str) -> None:
    assert (await api.request("POST", "/api/collections", json={"name": name, "schema": {}})).status_code == 201


async def delete(api: Api, name: str) -> None:
    assert (await api.request("DELETE", f"/api/collections/{name}")).status_code == 204


async def test_n36_collections_that_were_deleted_leave_nothing_after_an_hour(api: Api, services: Services) -> None:
    for number in range(20):
        await declare(api, f"things{number}")
        await delete(api, f"things{number}")
    assert len(collections(api)) == 20
    (job,) = (job for job in services.jobs.jobs if job.name == "sweep_collections")
    await job.run()
    assert len(collections(api)) == 20
    assert await sweep_closed(api.project.database, closed_for=AT_ONCE) == 20
    assert collections(api) == []
    assert api.database["collections"].count_documents({}) == 0
    assert timedelta(hours=1) == CLOSED_FOR
    await declare(api, "things0")


async def test_n36_the_job_drops_what_was_closed_an_hour_ago(api: Api, services: Services) -> None:
    for name, minutes in (("old", 61), ("new", 59)):
        await declare(api, name)
        await delete(api, name)
        closed_at = datetime.now(UTC) - timedelta(minutes=minutes)
        api.database.command("collMod", f"c_{name}", validator={**CLOSED, "closed_at": {"$ne": closed_at}})
    (job,) = (job for job in services.jobs.jobs if job.name == "sweep_collections")
    assert job.for_deployment
    await job.run()
    assert collections(api) == ["c_new"]


async def test_n36_a_collection_that_was_created_again_stays(api: Api) -> None:
    await declare(api, "things")
    await delete(api, "things")
    await declare(api, "things")
    assert await sweep_closed(api.project.database, closed_for=AT_ONCE) == 0
    documents = "/api/collections/things/documents"
    assert (await api.request("POST", documents, json={"data": {}})).status_code == 201


async def test_n36_what_an_earlier_version_closed_goes_an_hour_after_it_was_met(api: Api) -> None:
    api.database.create_collection("c_old", validator=CLOSED)
    api.database.create_collection("closed_half", validator=CLOSED)
    assert await sweep_closed(api.project.database, closed_for=AT_ONCE) == 0
    assert await sweep_closed(api.project.database) == 0
    assert await sweep_closed(api.project.database, closed_for=AT_ONCE) == 2
    assert collections(api) == []
