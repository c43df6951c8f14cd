"""Backups under transfers and replaced files, and restores and clones that are killed.

`python -m faults backups [--count 100] [--kills 20] [--seed 7]`. Money moves between two collections in one step each, and
files of documents are replaced: a backup with another sum, a missing, broken or orphan file is torn. The same sums are
read without a moment, which must be torn at least once. Then commands that restore and clone are killed at random moments.
"""

import asyncio
import io
import random
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE, TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx2
import typer
from pymongo import MongoClient
from pymongo.database import Database

from faults.commands import KEY, Shell
from faults.in_process import ServedProject, running
from faults.processes import headers, make_key
from faults.restarts import UNLIMITED
from faults.samples import FORM_TYPE, data_part, file_part, form, png
from faults.starts import start_command
from service.app import Application
from service.domain.portable import Portable, build_portable
from service.domain.portable.reading import BackupFile, open_backup
from service.domain.portable.taking import Wanted, take_backup
from service.embedded.mongod import embedded_mongodb
from service.storage.bson_stream import read_document

PREFIX = "f_backups_"
SIDES = ("left", "right")
ACCOUNTS, EACH, WRITERS = 50, 100, 3
PHOTOS = 10
# Seconds after which a command is killed: from before its first write to after its last one.
KILLED_AFTER = (0.5, 4.0)
Outcome = dict[str, int]


def main(
    count: Annotated[int, typer.Option(help="How many backups are taken.", min=1)] = 100,
    kills: Annotated[int, typer.Option(help="How many restores are killed, and how many clones.", min=0)] = 20,
    seed: Annotated[int, typer.Option(help="What the random moments are drawn from.")] = 7,
) -> None:
    """Take backups under writes, and kill restores and clones; look for what is torn or half."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        typer.echo(asyncio.run(take_under_writes(uri, count, seed=seed)))
        if kills:
            typer.echo(kill_copies(uri, Path(folder), kills, seed=seed))


async def take_under_writes(uri: str, count: int, *, seed: int) -> Outcome:
    """Counts the torn backups, and the torn plain reads of the same sums."""
    project_id, key = await make_key(uri, PREFIX, **UNLIMITED)
    async with running(uri, PREFIX) as (app, http):
        with MongoClient[dict[str, Any]](uri) as client:
            served = ServedProject(http, headers(key), client[f"{PREFIX}p_{project_id}"])
            await _open_accounts(served)
            stopped = asyncio.Event()
            tasks = [asyncio.create_task(_move(served, random.Random(seed + each), stopped)) for each in range(WRITERS)]  # noqa: S311
            tasks.append(asyncio.create_task(_replace(served, stopped)))
            try:
                return await _take_all(app, served, project_id, count, tasks)
            finally:
                stopped.set()
                await asyncio.gather(*tasks, return_exceptions=True)


async def _take_all(
    app: Application, served: ServedProject, project_id: str, count: int, tasks: list[asyncio.Task[None]]
) -> Outcome:
    found, portable = Counter[str](), build_portable(app.services.base)
    for _ in range(count):
        for fault in await _take(portable, project_id):
            found[fault] += 1
        found["plain reads torn"] += await asyncio.to_thread(_read_plainly, served) != 2 * ACCOUNTS * EACH
        for task in tasks:
            if task.done():
                task.result()
    return {"backups": count, **dict.fromkeys(FAULTS, 0), "plain reads torn": 0, **found}


FAULTS = ("sums torn", "files missing", "files broken", "files without a document")


async def _take(portable: Portable, project_id: str) -> list[str]:
    """The kinds of faults of one backup."""
    sinks: list[io.BytesIO] = []

    def begin() -> io.BytesIO:
        sinks.append(io.BytesIO())
        return sinks[-1]

    taken = await take_backup(portable, Wanted(project_id), begin)
    with BackupFile(sinks[-1]) as backup:
        total = sum(each["data"]["amount"] for side in SIDES for each in _documents(backup, f"c_{side}"))
        named = {each["data"]["photo"] for each in _documents(backup, "c_photos")}
        files = {each["_id"] for each in _documents(backup, "files.files")}
    faults = (total != 2 * ACCOUNTS * EACH, named - files, taken.manifest.warnings, files - named)
    return [name for name, is_there in zip(FAULTS, faults, strict=True) if is_there]


def _documents(backup: BackupFile, collection: str) -> list[dict[str, Any]]:
    return [read_document(each) for each in backup.documents(f"p/{collection}.bson.gz")]


def _read_plainly(served: ServedProject) -> int:
    """The sum as a reader without a moment finds it, who reads one account after the other."""
    names = [(side, each["_id"]) for side in SIDES for each in served.database[f"c_{side}"].find({}, {"_id": 1})]
    rows = (served.database[f"c_{side}"].find_one({"_id": name}) or {} for side, name in names)
    return sum(row["data"]["amount"] for row in rows)


async def _open_accounts(served: ServedProject) -> None:
    for side in SIDES:
        await _ask(served.http, "/api/collections", served, {"name": side, "schema": {"amount": {"type": "integer"}}})
        operations = [{"op": "create", "collection": side, "data": {"amount": EACH}}] * ACCOUNTS
        await _ask(served.http, "/api/batch", served, {"operations": operations})
    await _ask(served.http, "/api/collections", served, {"name": "photos", "schema": {"photo": {"type": "file"}}})
    for _ in range(PHOTOS):
        answer = await served.http.post(
            "/api/collections/photos/documents", content=_photo(), headers=served.headers | FORM_TYPE
        )
        answer.raise_for_status()


async def _ask(http: httpx2.AsyncClient, path: str, served: ServedProject, body: Any) -> None:
    (await http.post(path, json=body, headers=served.headers)).raise_for_status()


def _photo() -> bytes:
    return form(data_part({}), file_part("photo", content=png(400_000)))


async def _move(served: ServedProject, chance: random.Random, stopped: asyncio.Event) -> None:
    """Moves money between the sides, again and again, each time in one transaction."""
    ids = {side: [each["_id"] for each in served.database[f"c_{side}"].find({}, {"_id": 1})] for side in SIDES}
    while not stopped.is_set():
        source, target = chance.sample(SIDES, 2)
        amount = chance.randint(1, 9)
        operations = [
            {"op": "update", "collection": side, "id": chance.choice(ids[side]), "increment": {"amount": change}}
            for side, change in ((source, -amount), (target, amount))
        ]
        await served.http.post("/api/batch", json={"operations": operations}, headers=served.headers)
        await asyncio.sleep(0.01)


async def _replace(served: ServedProject, stopped: asyncio.Event) -> None:
    """Gives one document after the other another file."""
    ids = [each["_id"] for each in served.database["c_photos"].find({}, {"_id": 1})]
    while not stopped.is_set():
        for name in ids:
            path = f"/api/collections/photos/documents/{name}"
            await served.http.patch(path, content=_photo(), headers=served.headers | FORM_TYPE)
            await asyncio.sleep(0.02)


def kill_copies(uri: str, folder: Path, kills: int, *, seed: int) -> Outcome:
    """Kills `project restore`, then `project clone`, and looks for a project that is not all there.

    The users of a project that is there are compared with the source's by their digest. The last run of each command is
    not killed, and must make the project.
    """
    chance, found = random.Random(seed), Counter[str]()  # noqa: S311 - no secret
    source, elsewhere = (
        Shell({"MONGODB_URI": uri, "DATABASE_PREFIX": f"{PREFIX}{each}_", "SECRET_KEY": KEY, "PATH": "/usr/bin"})
        for each in "kr"
    )
    backup = folder / "k.zip"
    restore = ["project", "restore", str(backup), "--as", "k"]
    clone = ["project", "clone", "k", "--as", "cloned"]
    with MongoClient[dict[str, Any]](uri) as client:
        source.json("project", "create", "K", "--id", "k")
        users = [{"_id": f"{number:024x}", "email": f"{number}@x", "data": {}} for number in range(20_000)]
        client[f"{PREFIX}k_p_k"]["users"].insert_many(users)
        source.json("project", "backup", "k", str(backup))
        expected = _digest_users(source, "k", folder)
        copies = [
            _Copy(elsewhere, "k", restore, client[f"{PREFIX}r_system"]),
            _Copy(source, "cloned", clone, client[f"{PREFIX}k_system"]),
        ]
        for copy in copies:
            for number in range(kills + 1):
                is_last = number == kills
                _free_id(copy)
                copy.run(None if is_last else chance.uniform(*KILLED_AFTER))
                is_there = copy.is_there()
                found[f"{copy.command[1]}: {'made' if is_there else 'nothing to see'}"] += 1
                found["half"] += is_there and _digest_users(copy.shell, copy.project_id, folder) != expected
                found["half"] += is_last and not is_there
    return {"kills": kills * len(copies), "half": 0, **found}


@dataclass(frozen=True)
class _Copy:
    """A project that a command makes again and again."""

    shell: Shell
    project_id: str
    command: list[str]
    system: Database[dict[str, Any]]

    def run(self, seconds: float | None) -> None:
        """Runs the command, and kills it after so many seconds. Without a number it must succeed."""
        with start_command(self.command, self.shell.environment, stdout=PIPE, stderr=PIPE) as process:
            try:
                status = process.wait(seconds)
            except TimeoutExpired:
                process.kill()
                process.wait()
            else:
                assert status == 0, process.communicate()

    def is_there(self) -> bool:
        """True for a project that a command shows; its record has a name, which a reservation has not."""
        there = self.shell.run("project", "show", self.project_id).returncode == 0
        assert there == bool(
            self.system["projects"].count_documents({"_id": self.project_id, "name": {"$exists": True}})
        )
        return there


def _free_id(copy: _Copy) -> None:
    """Frees the id: it is that of a project, of a reservation that a killed command left, or free."""
    if not copy.system["projects"].count_documents({"_id": copy.project_id}):
        return
    # As if the lease had run out: a deletion passes by one that is in force.
    copy.system["projects"].update_one({"_id": copy.project_id}, {"$unset": {"restoring": ""}})
    result = copy.shell.run("project", "delete", copy.project_id, "--yes")
    assert result.returncode == 0, result.stderr


def _digest_users(shell: Shell, project_id: str, folder: Path) -> str:
    """The SHA-256 of the users of a backup of the project, without the fields that a restore raises."""
    path = folder / "compared.zip"
    shell.json("project", "backup", project_id, str(path))
    digest = sha256()
    with open_backup(path) as backup:
        for document in _documents(backup, "users"):
            digest.update(repr([(name, value) for name, value in document.items() if name not in RAISED]).encode())
    return digest.hexdigest()


RAISED = frozenset({"version", "token_version"})
