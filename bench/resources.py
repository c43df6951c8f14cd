"""The resources of the service besides its requests: time to start, and memory."""

import asyncio
import json
import os
import secrets
import signal
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import httpx2

from bench.figures import Figure, Goal
from bench.load import Request, send_many
from bench.processes import POLL_SECONDS, service_process
from bench.stage import Stage, staged
from faults.authenticator import Page, SoftAuthenticator
from service.domain.projects.lookup import CACHE_SECONDS
from service.services import build_services
from service.settings import Settings

WARM_REQUESTS = 2_000
PASSKEY_SIGN_INS = 20
WITH_PASSKEYS = {
    "WEBAUTHN_RP_ID": "localhost",
    "WEBAUTHN_ORIGINS": "http://localhost",
    "PASSWORD_CHECK": "common",
    "CODE_LIMIT": "0",
    "SIGNUP_LIMIT": "0",
}


def measure_start(settings: Settings, *, rounds: int) -> list[Figure]:
    """From the command to the first answer of /health/ready: MongoDB started with it, on the data that is there."""
    stopped = [_start(settings) for _ in range(rounds)]
    # The first of these starts comes after a stop, and counts for nothing.
    killed = [_start(settings, then_kill=True) for _ in range(rounds + 1)][1:]
    note = f"embedded MongoDB and service, from the command to ready; {rounds} starts on the data of this benchmark"
    return [
        Figure("start, with data there", median(stopped), "s", Goal("<=", 2), note),
        Figure(
            "start after kill -9",
            median(killed),
            "s",
            Goal("<=", 2),
            "of the service and of its MongoDB; else as above",
        ),
    ]


def _start(settings: Settings, *, then_kill: bool = False) -> float:
    """The seconds of one start. The service is then stopped, or killed together with its MongoDB."""
    started = perf_counter()
    with service_process(settings) as server:
        seconds = perf_counter() - started
        if then_kill:
            state = json.loads((settings.data_dir / "mongodb" / "mongod.json").read_text())
            for pid in (server.pid, state["pid"]):
                _kill(pid)
    return seconds


def _kill(pid: int) -> None:
    """Returns when the process holds nothing any more; one whose parent has not asked after it stays as a zombie."""
    os.kill(pid, signal.SIGKILL)
    status = Path(f"/proc/{pid}/stat")
    while status.exists() and ") Z " not in status.read_text():
        sleep(POLL_SECONDS)


def measure_memory(settings: Settings) -> list[Figure]:
    """The memory of each of two workers, after some thousand requests, and with features that only some projects use."""
    goal = Goal("<=", 110)
    with staged(settings, "--workers", "2") as (stage, project):
        request = Request("GET", "/auth-collections/users?limit=20", stage.keyed)
        asyncio.run(send_many(stage.server, request, WARM_REQUESTS))
        resident = stage.server.worker_memory()
        asyncio.run(_change(settings, project.id, WITH_PASSKEYS))
        sleep(CACHE_SECONDS + 1)
        _sign_in_by_passkey(stage)
        with_passkeys = stage.server.worker_memory()
    note = f"the same workers, after {PASSKEY_SIGN_INS} sign-ins by passkeys and signups with PASSWORD_CHECK=common"
    return [
        Figure("resident memory per worker", resident, "MiB", goal, f"after {WARM_REQUESTS} lists of 20 users"),
        Figure("resident memory per worker, with passkeys", with_passkeys, "MiB", goal, note),
    ]


async def _change(settings: Settings, project_id: str, changes: Mapping[str, str]) -> None:
    services = build_services(settings)
    try:
        await services.base.admin.change(project_id, changes)
    finally:
        await services.close()


def _sign_in_by_passkey(stage: Stage) -> None:
    """Each request has a connection of its own, so that every worker has some."""
    device, page, key = SoftAuthenticator(), Page("http://localhost"), dict(stage.keyed)

    def ask(path: str, body: Any, headers: Mapping[str, str]) -> Any:
        answer = httpx2.post(f"{stage.server.url}/auth-collections/{path}", json=body, headers=headers, timeout=30)
        return answer.raise_for_status().json()

    account = {"email": f"{secrets.token_hex(8)}@example.com", "password": "correct horse"}
    user = {"authorization": f"Bearer {ask('signup', account, key)['access_token']}"}
    asked = ask("user/factors/passkey/options", {}, user)
    made = {"flow_id": asked["flow_id"], "credential": device.create(asked["publicKey"], page)}
    ask("user/factors/passkey", made, user)
    for _ in range(PASSKEY_SIGN_INS):
        asked = ask("login-passkey/options", {}, key)
        used = {"flow_id": asked["flow_id"], "credential": device.get(asked["publicKey"], page)}
        ask("login-passkey", used, key)
        ask("signup", {"email": f"{secrets.token_hex(8)}@example.com", "password": "correct horse"}, key)
