"""Backups, restores, clones and their jobs over the Admin API: they are begun, run by the leader, followed and cancelled."""

import errno
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.waiting import until
from service.domain.portable import backups as portable_backups
from service.domain.portable.job_kinds import build_runner
from service.domain.portable.jobs import describe_job
from service.domain.projects import deletion
from service.errors import Unavailable
from service.schema.values import now
from service.services import Services
from service.storage.reservations import Reservation
from tests.conftest import Api, MakeApi
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]
System = Any


@pytest.fixture
def system(mongo: MongoClient[Any], database_prefix: str) -> System:
    return mongo[f"{database_prefix}system"]


@pytest.fixture
def folder(services: Services) -> Path:
    """The folder of backups, which is empty."""
    for file in services.backups.folder.iterdir():
        file.unlink()
    return services.backups.folder


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def place(project_id: str, rest: str = "backups") -> str:
    return f"/admin/v1/projects/{project_id}/{rest}"


async def ended(console: Console, services: Services, job: Json) -> Json:
    """The job when it has ended, whichever runner of this process had it."""
    found = job

    async def look() -> bool:
        nonlocal found
        await build_runner(services.backups).run_waiting()
        found = (await console.get(f"/admin/v1/jobs/{job['id']}")).json()
        return found["ended_at"] is not None

    await until(look)
    return found


async def back_up(console: Console, api: Api, services: Services, **fields: Any) -> Json:
    begun = await console.post(place(api.project.id), fields)
    assert begun.status_code == 202, begun.text
    assert begun.json()["backup"]["state"] == "making"
    job = await ended(console, services, begun.json()["job"])
    assert (job["state"], job["error"]) == ("done", None)
    shown: Json = (await console.get(place(api.project.id, f"backups/{begun.json()['backup']['id']}"))).json()
    return shown


async def test_a_backup_is_taken_verified_pinned_listed_and_deleted(
    owner: Console, join: Join, api: Api, services: Services, folder: Path, system: System
) -> None:
    await api.signup()
    backup = await back_up(owner, api, services, without=["events", "sessions"], note="Before")
    file = folder / str(system["backups"].find_one({})["name"])
    assert (backup["state"], backup["documents"], backup["note"], backup["pinned"]) == ("done", 1, "Before", False)
    assert (backup["bytes"], backup["manifest"]["left_out"]) == (file.stat().st_size, ["events", "sessions"])
    assert (oct(file.stat().st_mode & 0o777), names_in(folder)) == ("0o600", [file.name])
    own = place(api.project.id, f"backups/{backup['id']}")
    checked = await ended(owner, services, (await owner.post(f"{own}/verify")).json()["job"])
    assert (checked["state"], checked["kind"], checked["by"]["kind"]) == ("done", "verify", "operator")
    whole = await owner.get(f"{own}/file")
    part = await owner.get(f"{own}/file", headers={"range": "bytes=10-19"})
    assert (whole.content, part.status_code, part.content) == (file.read_bytes(), 206, whole.content[10:20])
    assert file.name in whole.headers["content-disposition"]
    changed = await owner.request("PATCH", own, json={"pinned": True})
    assert (changed.json()["pinned"], changed.json()["verified_at"] is not None) == (True, True)
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    listed = (await viewer.get(place(api.project.id, "backups?state=done"))).json()
    assert ([each["id"] for each in listed["backups"]], listed["next"]) == ([backup["id"]], None)
    assert "manifest" not in listed["backups"][0]
    assert (await viewer.delete(own)).status_code == 403
    assert (await owner.delete(own)).status_code == 204
    assert (file.exists(), (await owner.get(own)).json()["code"]) == (False, "backup_not_found")
    actions = [each["action"] for each in system["audit"].find({"action": {"$regex": "^backup"}}).sort("at", 1)]
    assert actions == ["backup.made", *["backup.downloaded"] * 2, "backup.changed", "backup.deleted"]
    actor = system["audit"].find_one({"action": "backup.made"})["actor"]
    assert (actor["kind"], actor["name"]) == ("operator", "Olga")


async def test_g8_no_secret_of_a_clone_stands_in_a_job(
    owner: Console, api: Api, services: Services, system: System
) -> None:
    # Collections that were emptied, as by a change of rules, are copied as well.
    for name in ("rules", "aggregations", "events"):
        api.database[name].insert_one({"_id": "gone"})
        api.database[name].delete_one({"_id": "gone"})
    begun = await owner.post(place(api.project.id, "clone"), {"id": "a-clone", "name": "Copy"})
    job = await ended(owner, services, begun.json()["job"])
    assert job["state"] == "done", job
    assert job["result"]["project_id"] == "a-clone"
    assert "_key" not in str(job)
    assert system["api_keys"].count_documents({"project_id": "a-clone"}) == 0
    assert "params" not in system["jobs"].find_one({"_id": job["id"]})
    assert (await owner.get("/admin/v1/projects/a-clone")).json()["name"] == "Copy"
    taken = await owner.post(place(api.project.id, "clone"), {"id": "a-clone"})
    assert (taken.status_code, taken.json()["code"]) == (409, "conflict")


async def test_a_project_is_restored_from_a_backup_that_outlived_it(
    owner: Console, api: Api, services: Services, system: System
) -> None:
    await api.signup()
    backup = await back_up(owner, api, services)
    taken = await owner.post("/admin/v1/restores", {"backup_id": backup["id"], "as": api.project.id})
    assert taken.status_code == 409
    system["projects"].delete_one({"_id": api.project.id})
    system["api_keys"].delete_many({"project_id": api.project.id})
    api.database.client.drop_database(api.database.name)
    services.base.projects.forget_all()
    kept = (await owner.get(f"/admin/v1/backups?project_id={api.project.id}")).json()["backups"]
    assert [each["id"] for each in kept] == [backup["id"]]
    begun = await owner.post("/admin/v1/restores", {"backup_id": backup["id"], "as": api.project.id})
    job = await ended(owner, services, begun.json()["job"])
    assert (job["state"], job["result"]["needs"]) == ("done", []), job
    assert (await api.login()).status_code == 200


@pytest.mark.parametrize("is_published", [False, True])
async def test_g3_a_clone_that_lost_its_process_is_made_once(
    owner: Console,
    api: Api,
    services: Services,
    system: System,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_published: bool,
) -> None:
    """Its process dies before or after the last write; another one goes on when the lease has run out."""
    plain = Reservation.publish

    async def publish(*arguments: Any) -> None:
        monkeypatch.setattr(Reservation, "publish", plain)
        if is_published:
            await plain(*arguments)
        # Nothing is dropped then, as nothing is after a kill.
        monkeypatch.setattr(Reservation, "release", _keep_all)
        raise Unavailable

    released = Reservation.release
    monkeypatch.setattr(Reservation, "publish", publish)
    job = describe_job("clone", api.project.id, {"id": "a-clone", "is_empty": False, "choices": {}})
    await services.backups.jobs.insert(job)

    async def is_lost() -> bool:
        with suppress(Unavailable):
            await build_runner(services.backups).run_waiting()
        return Reservation.release is _keep_all

    await until(is_lost)
    monkeypatch.setattr(Reservation, "release", released)
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 0.0)
    await until(lambda: system["jobs"].find_one({"attempt": 1, "open": True}) is not None)
    system["jobs"].update_one({}, [{"$set": {"until": {"$subtract": ["$$NOW", 1]}}}])
    found = await ended(owner, services, {"id": job["_id"]})
    assert (found["state"], found["result"]["project_id"], found["attempt"]) == ("done", "a-clone", 2), found
    assert system["projects"].count_documents({"_id": "a-clone", "deleting": {"$exists": False}}) == 1
    assert system["audit"].count_documents({"action": "project.cloned"}) == 1


async def _keep_all(_: Reservation) -> bool:
    return False


async def test_a_job_that_fails_says_why_and_leaves_no_file(
    owner: Console, api: Api, services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = await back_up(owner, api, services)
    file = folder / names_in(folder)[0]
    content = bytearray(file.read_bytes())
    content[content.index(b"p/users.bson.gz") + 40] ^= 1
    file.write_bytes(content)
    own = place(api.project.id, f"backups/{backup['id']}")
    damaged = await ended(owner, services, (await owner.post(f"{own}/verify")).json()["job"])
    assert (damaged["state"], damaged["error"]["code"]) == ("failed", "backup_damaged")
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    file.rename(file.with_suffix(".elsewhere"))
    for answer in (await owner.get(f"{own}/file"), await owner.delete(own)):
        assert (answer.status_code, answer.json()["code"]) == (409, "backup_on_other_host")
    file.with_suffix(".elsewhere").rename(file)
    assert (await owner.delete(own)).status_code == 204


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, "store_full"), (errno.EDQUOT, "store_full"), (errno.EROFS, "configuration_error")],
    ids=["disk full", "quota", "read-only"],
)
async def test_g4_a_backup_that_cannot_be_written_fails_and_leaves_earlier_ones(
    owner: Console,
    api: Api,
    services: Services,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    code: str,
) -> None:
    backup = await back_up(owner, api, services)
    (earlier,) = names_in(folder)
    content = (folder / earlier).read_bytes()

    def refuse(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr("service.domain.portable.targets.os.write", refuse)
        begun = (await owner.post(place(api.project.id), {})).json()
        job = await ended(owner, services, begun["job"])
    assert (job["state"], job["error"]["code"]) == ("failed", code)
    assert os.strerror(number) in job["error"]["detail"]
    failed = (await owner.get(place(api.project.id, f"backups/{begun['backup']['id']}"))).json()
    assert (failed["state"], names_in(folder), (folder / earlier).read_bytes()) == ("failed", [earlier], content)
    own = place(api.project.id, f"backups/{backup['id']}")
    assert (await ended(owner, services, (await owner.post(f"{own}/verify")).json()["job"]))["state"] == "done"


async def test_a_deletion_while_a_job_uses_the_backup_is_refused_and_the_bounds_hold(
    owner: Console, api: Api, services: Services, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = await back_up(owner, api, services)
    own = place(api.project.id, f"backups/{backup['id']}")
    system["jobs"].update_one(
        {}, {"$set": {"open": True, "params.backup_id": backup["id"], "until": now() + timedelta(days=1)}}
    )
    for answer in (await owner.delete(own), await owner.post(place(api.project.id), {})):
        assert answer.json()["code"] in {"backup_in_use", "project_busy"}
        assert answer.status_code == 409
    monkeypatch.setattr(portable_backups, "MAX_BACKUPS", 1)
    assert (await owner.post(place(api.project.id), {})).json()["code"] == "conflict"


async def test_a_job_of_another_project_is_not_found_and_one_that_has_ended_not_cancelled(
    owner: Console, api: Api, make_api: MakeApi, services: Services
) -> None:
    other = await make_api()
    backup = await back_up(owner, api, services)
    job = (await owner.get(place(api.project.id, "jobs?kind=backup&state=done&limit=1"))).json()["jobs"][0]
    assert (await owner.get("/admin/v1/jobs")).json()["jobs"] == [job]
    late = await owner.post(place(api.project.id, f"jobs/{job['id']}/cancel"))
    assert (late.status_code, late.json()["code"]) == (409, "job_not_cancellable")
    for path in (f"jobs/{job['id']}", f"backups/{backup['id']}"):
        assert (await owner.get(place(other.project.id, path))).status_code == 404


async def test_a_new_project_under_the_id_of_a_deleted_one_has_none_of_its_backups(
    owner: Console, api: Api, services: Services, system: System
) -> None:
    backup = await back_up(owner, api, services)
    system["projects"].update_one({"_id": api.project.id}, {"$set": {"created_at": now()}})
    services.base.projects.forget_all()
    assert (await owner.get(place(api.project.id))).json()["backups"] == []
    for path in (f"backups/{backup['id']}", f"backups/{backup['id']}/file"):
        assert (await owner.get(place(api.project.id, path))).status_code == 404
    assert (await owner.delete(place(api.project.id, f"backups/{backup['id']}"))).status_code == 404
    assert len((await owner.get("/admin/v1/backups")).json()["backups"]) == 1
