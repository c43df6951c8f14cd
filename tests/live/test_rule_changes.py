"""Threat row X12 on two workers: what is taken away is refused on each of them within five seconds."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from faults.server import Server, serving

FORGOTTEN_SECONDS = 5.0
# Seconds a busy machine may add to the five before the next answer is seen.
LATE_SECONDS = 20.0
GIVE_UP_SECONDS = 90.0
LOOK_SECONDS = 0.2
WORKERS, CONNECTIONS = 2, 12
SCHEMA = {"text": {"type": "string"}}
DOCUMENTS = "/api/collections/items/documents"


def test_x12_what_is_taken_away_is_refused_by_each_worker_within_five_seconds(
    mongodb_uri: str, database_prefix: str
) -> None:
    with (
        serving(mongodb_uri, f"{database_prefix}x12_", workers=WORKERS) as server,
        connections_to_both(server) as users,
    ):
        checked(server.request("POST", "/api/collections", json={"name": "items", "schema": SCHEMA}))
        save(server, {"$user.roles_eq": "editor"})
        demoted, leaver, editor = (sign_up(server, name) for name in ("demoted", "leaver", "editor"))
        for user_id, _ in (demoted, leaver, editor):
            give(server, user_id, "editor")
        for _, token in (demoted, leaver, editor):
            wait_for(users, token, 200)

        give(server, demoted[0])
        server.database["users"].delete_one({"_id": leaver[0]})
        started = time.monotonic()
        wait_for(users, demoted[1], 403)
        wait_for(users, leaver[1], 401)
        assert time.monotonic() - started <= FORGOTTEN_SECONDS + LATE_SECONDS

        wait_for(users, editor[1], 200)
        save(server, {"$user.roles_eq": "admin"})
        started = time.monotonic()
        wait_for(users, editor[1], 403)
        assert time.monotonic() - started <= FORGOTTEN_SECONDS + LATE_SECONDS


@contextmanager
def connections_to_both(server: Server) -> Iterator[list[httpx2.Client]]:
    """Kept connections, of which each worker has some: the kernel deals them out."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while True:
        with ExitStack() as opened:
            clients = [opened.enter_context(httpx2.Client(base_url=server.url, timeout=60)) for _ in range(CONNECTIONS)]
            for client in clients:
                client.get("/health/live")
            if len(owners(server)) == WORKERS:
                yield clients
                return
        # The one that began first was dealt all of them, and would keep them.
        assert time.monotonic() < deadline, "one worker has all the connections"
        time.sleep(LOOK_SECONDS)


def owners(server: Server) -> set[int]:
    """The workers that have an established connection of ours."""
    inodes = {pid: socket_inodes(pid) for pid in server.workers()}
    return {pid for pid, own in inodes.items() if own & established(server.port)}


def socket_inodes(pid: int) -> set[str]:
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        target = str(each.readlink()) if each.is_symlink() else ""
        found |= {target[8:-1]} if target.startswith("socket:[") else set()
    return found


def established(port: int) -> set[str]:
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return {row[9] for row in rows if row[3] == "01" and int(row[1].rpartition(":")[2], 16) == port}


def wait_for(clients: list[httpx2.Client], token: str, status: int) -> None:
    """Until every connection is answered with `status`, twice in a row."""
    deadline, calm = time.monotonic() + GIVE_UP_SECONDS, 0
    while calm < 2:
        answers = {
            client.get(DOCUMENTS, headers={"authorization": f"Bearer {token}"}).status_code for client in clients
        }
        calm = calm + 1 if answers == {status} else 0
        assert time.monotonic() < deadline, answers
        # The change takes seconds; asking without a pause would keep both workers and this process busy meanwhile.
        time.sleep(LOOK_SECONDS)


def save(server: Server, read: Any) -> None:
    checked(server.request("PUT", "/api/rules", json={"collections": {"items": {"read": read}}}))


def give(server: Server, user_id: str, *roles: str) -> None:
    checked(server.request("PUT", f"/auth-collections/users/{user_id}/roles", json={"roles": list(roles)}))


def sign_up(server: Server, name: str) -> tuple[str, str]:
    """Id and token."""
    body = {"email": f"{name}@example.com", "password": "correct horse"}
    made = checked(server.request("POST", "/auth-collections/signup", json=body)).json()
    return made["user"]["id"], made["access_token"]


def checked(answer: httpx2.Response) -> httpx2.Response:
    assert answer.is_success, answer.text
    return answer
