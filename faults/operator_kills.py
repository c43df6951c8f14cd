"""Kills of the service under an operator's writes, and what the audit log has afterwards.

A session changes documents and settings, a secret key changes rules, and a command renames the project; each value is a
number that is used once. An entry whose change is missing, or a change without an entry, breaks the chain of its numbers.
"""

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from typing import Any

import httpx2
import orjson
from pymongo import MongoClient
from pymongo.database import Database

from faults.commands import KEY, Shell, free_port
from faults.processes import start_service, wait_live
from faults.starts import start_command

PREFIX = "f_killed_"
PROJECT, PASSWORD, EMAIL = "killed", "a long pass phrase", "olga@example.com"
PLACE = f"/admin/v1/projects/{PROJECT}"
DOCUMENTS = f"{PLACE}/api/collections/notes/documents"
# A kill comes after so many answers at most, and a moment.
SEED, NOTES, MOST_ANSWERS, MOMENT = 26, 20_000, 20, 0.02
ANSWER_SECONDS, LONGEST_COMMAND = 60, 5.0
CHAINS = {
    "settings.changed": ["settings", "SIGNUP_LIMIT"],
    "rules.changed": ["collections", "notes", "read", "n_eq"],
    "project.renamed": ["name"],
}
FAULTS = ("changes without an entry", "entries without a change", "breaks of a chain", "secrets in entries")
Headers = dict[str, str]


def kill_writers(uri: str, folder: Path, kills: int) -> Counter[str]:
    """Counts the kills, the entries, and the faults."""
    chance, found, port = random.Random(SEED), Counter[str](kills=kills), free_port()  # noqa: S311 - repeatable
    shell = Shell({"MONGODB_URI": uri, "DATABASE_PREFIX": PREFIX, "SECRET_KEY": KEY, "PATH": "/usr/bin"})
    key = shell.json("project", "create", "0", "--id", PROJECT, "--set", "TIER=enterprise")["api_key"]
    link = shell.json("operator", "invite", EMAIL)["invitation"]["link"]
    with MongoClient[dict[str, Any]](uri) as mongo:
        ids = list[str]()
        cookie: Headers = {}
        for number in range(1, kills + 1):
            service = start_service(uri, folder, port=port, DATABASE_PREFIX=PREFIX, LOG_LEVEL="error")
            try:
                wait_live(service)
                if not cookie:
                    cookie, ids = _begin(service.url, link, key, mongo[f"{PREFIX}p_{PROJECT}"])
                end = threading.Event()
                writers = _start_writers(service.url, cookie, key, ids, number, end, found)
                command = ["project", "rename", PROJECT, str(number)]
                with start_command(command, shell.environment, stdout=DEVNULL, stderr=DEVNULL) as rename:
                    _await(found, found["answers"] + chance.randint(1, MOST_ANSWERS))
                    time.sleep(chance.uniform(0, MOMENT))
                    service.process.kill()
                    end.set()
                    with suppress(TimeoutExpired):
                        rename.wait(chance.uniform(0.2, LONGEST_COMMAND))
                    rename.kill()
                service.process.wait()
                for writer in writers:
                    writer.join()
            finally:
                service.process.kill()
        _compare(mongo, found, [key, link.rpartition("/")[2], *cookie.values(), PASSWORD])
    return found


def _begin(url: str, link: str, key: str, database: Database[dict[str, Any]]) -> tuple[Headers, list[str]]:
    """The operator's cookie, and the ids of documents to change."""
    origin = {"origin": url, "sec-fetch-site": "same-origin"}
    body = {"token": link.rpartition("/")[2], "name": "Olga", "password": PASSWORD}
    joined = httpx2.post(f"{url}/admin/v1/invitations/accept", json=body, headers=origin, timeout=60)
    joined.raise_for_status()
    schema = {"name": "notes", "schema": {"n": {"type": "integer"}}}
    made = httpx2.post(f"{url}/api/collections", json=schema, headers={"x-api-key": key}, timeout=60)
    made.raise_for_status()
    lines = b"\n".join(b'{"data": {"n": 0}}' for _ in range(NOTES))
    ndjson = {"x-api-key": key, "content-type": "application/x-ndjson"}
    httpx2.post(f"{url}/api/collections/notes/import", content=lines, headers=ndjson, timeout=120).raise_for_status()
    cookie = "; ".join(f"{name}={value}" for name, value in joined.cookies.items())
    return origin | {"cookie": cookie}, [each["_id"] for each in database["c_notes"].find({}, {"_id": 1})]


def _start_writers(
    url: str, cookie: Headers, key: str, ids: list[str], life: int, end: threading.Event, found: Counter[str]
) -> list[threading.Thread]:
    def write(method: str, path: str, headers: Headers, body: Any) -> None:
        number = 0
        with httpx2.Client(base_url=url, headers=headers, timeout=60) as client, suppress(httpx2.TransportError):
            while not end.is_set():
                number += 1
                place = path if path != DOCUMENTS else f"{path}/{ids.pop()}"
                answer = client.request(method, place, json=body(life * 10_000 + number))
                found["answers"] += 1
                found["refusals"] += answer.status_code >= 400

    writes: list[tuple[str, str, Headers, Any]] = [
        ("PATCH", DOCUMENTS, cookie, lambda number: {"data": {"n": number}}),
        ("PATCH", f"{PLACE}/settings", cookie, lambda number: {"settings": {"SIGNUP_LIMIT": number}}),
        (
            "PUT",
            "/api/rules",
            {"x-api-key": key},
            lambda number: {"collections": {"notes": {"read": {"n_eq": number}}}},
        ),
    ]
    threads = [threading.Thread(target=write, args=each, daemon=True) for each in writes]
    for thread in threads:
        thread.start()
    return threads


def _await(found: Counter[str], answers: int) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS
    while found["answers"] < answers and time.monotonic() < deadline:
        time.sleep(0.005)


def _compare(mongo: MongoClient[dict[str, Any]], found: Counter[str], secrets: list[str]) -> None:
    system, database = mongo[f"{PREFIX}system"], mongo[f"{PREFIX}p_{PROJECT}"]
    entries = list(system["audit"].find({"project_id": PROJECT}).sort([("at", 1), ("_id", 1)]))
    found["entries"] = len(entries)
    written = {each["_id"] for each in database["c_notes"].find({"data.n": {"$gt": 0}}, {"_id": 1})}
    of_data = [each for each in entries if each["action"].startswith("data.")]
    found["entries that are begun"] = sum(each["status"] == "begun" for each in of_data)
    found["documents changed"] = len(written)
    found["changes without an entry"] = len(written - {each["target"]["id"] for each in of_data})
    found["entries without a change"] = len(
        {each["target"]["id"] for each in of_data if each["status"] == 200} - written
    )
    for action, path in CHAINS.items():
        links = [
            (change["before"], change["after"])
            for each in entries
            if each["action"] == action
            for change in orjson.loads(each["changes"])
            if change["path"] == path
        ]
        found[action] = len(links)
        found["breaks of a chain"] += sum(one[1] != other[0] for one, other in pairwise(links))
        found["breaks of a chain"] += bool(links) and links[-1][1] != _stored(system, database, action)
    text = str(entries)
    found["secrets in entries"] = sum(secret in text for secret in secrets)


def _stored(system: Database[dict[str, Any]], database: Database[dict[str, Any]], action: str) -> Any:
    """The present value of what entries of this action change."""
    project = system["projects"].find_one({"_id": PROJECT}) or {}
    if action == "project.renamed":
        return project["name"]
    if action == "settings.changed":
        return project["settings"]["SIGNUP_LIMIT"]
    rules = orjson.loads((database["rules"].find_one({}) or {})["text"])
    return rules["collections"]["notes"]["read"]["n_eq"]
