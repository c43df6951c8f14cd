"""The number of commands each request sends to MongoDB."""

import asyncio
import json
from statistics import median
from typing import Any

from pymongo import monitoring

from bench.asgi import call
from bench.commands import CommandRecorder
from bench.figures import Figure, Goal
from bench.population import populated_project, user_id
from bench.stage import COLLECTION, DOCUMENT, PROJECT, SCHEMA, USERS
from service.app import create_app
from service.domain.sessions.sessions import PASSWORD, Client
from service.settings import Settings
from service.storage.account_states import NEW_ACCOUNT

ONE = Goal("<=", 1)
REQUESTS = 200


def measure_round_trips(settings: Settings) -> list[Figure]:
    """The median of the commands of a request: a few requests also take a slice of a limit, or read the project again."""
    recorder = CommandRecorder()
    monitoring.register(recorder)
    return asyncio.run(_measure(settings, recorder))


async def _measure(settings: Settings, recorder: CommandRecorder) -> list[Figure]:
    _, api_key = await populated_project(settings, PROJECT, USERS)
    app, keyed = create_app(settings), {"x-api-key": api_key}
    path = f"/api/collections/{COLLECTION}/documents"
    async with app.router.lifespan_context(app):
        client, project = Client("192.0.2.1", "bench"), await app.services.base.projects.by_api_key(api_key)
        token = (
            await app.services.sessions.open(project, user_id(1), 1, client, state=NEW_ACCOUNT, amr=PASSWORD)
        ).access_token
        declared = json.dumps({"name": COLLECTION, "schema": SCHEMA}).encode()
        await call(app, "/api/collections", "", keyed, body=declared)
        document = json.loads((await call(app, path, "", keyed, body=DOCUMENT))[1])
        requests: dict[str, dict[str, Any]] = {
            "profile": {"path": "/auth-collections/user", "headers": {"authorization": f"Bearer {token}"}},
            "list without total": {"path": "/auth-collections/users", "query": "count=false", "headers": keyed},
            "create a document": {"path": path, "headers": keyed, "body": DOCUMENT},
            "get a document": {"path": f"{path}/{document['id']}", "headers": keyed},
        }
        return [await _count(app, recorder, name, request) for name, request in requests.items()]


async def _count(app: Any, recorder: CommandRecorder, name: str, request: dict[str, Any]) -> Figure:
    counts = []
    for _ in range(REQUESTS):
        recorder.reset()
        status, _ = await call(app, **{"query": "", **request})
        counts.append(len(recorder.commands))
    note = f"median of {REQUESTS} requests, answered {status}; in all {sum(counts)} commands, with the leases of limits"
    return Figure(f"round trips, {name}", median(counts), "", ONE, note)
