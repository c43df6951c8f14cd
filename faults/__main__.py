"""`python -m faults NAME`: the long form of a fault test, which prints its figures. scripts/faults calls it."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import typer

from faults import (
    backups,
    batches,
    cost,
    freeze,
    hostile,
    idempotency,
    kills,
    limits,
    lost_answers,
    mail,
    once,
    operators,
    privacy,
    realtime,
    restarts,
    sessions,
    soak,
    standstill,
)
from service.embedded.mongod import embedded_mongodb

ON_ONE_SERVER: dict[str, Callable[[str], Awaitable[object]]] = {
    "logins": limits.logins,
    "auth": limits.auth,
    "auth-with-kills": lambda uri: limits.auth(uri, kills=3),
    "restarts": restarts.restarts,
    "cost": cost.cost,
}
# These take options of their own.
PROGRAMS: dict[str, Callable[[], None]] = {
    "hostile": hostile.main,
    "soak": soak.main,
    "sessions": lambda: typer.run(sessions.main),
    "mail": lambda: typer.run(mail.main),
    "privacy": lambda: typer.run(privacy.main),
    "operators": lambda: typer.run(operators.main),
    "once": lambda: typer.run(once.main),
    "backups": lambda: typer.run(backups.main),
    "batches": lambda: typer.run(batches.main),
    "idempotency": lambda: typer.run(idempotency.main),
    "lost_answers": lambda: typer.run(lost_answers.main),
    "realtime": lambda: typer.run(realtime.main),
    "standstill": lambda: typer.run(standstill.main),
}
ON_THEIR_OWN: dict[str, Callable[[], Awaitable[object]]] = {"kills": kills.kills, "freeze": freeze.freeze}


def main(name: str) -> None:
    started = time.monotonic()
    print(f"{name}: {asyncio.run(_run(name))}")  # noqa: T201 - figures for a person
    print(f"{name}: {time.monotonic() - started:.0f} s in all")  # noqa: T201


async def _run(name: str) -> object:
    if name in ON_THEIR_OWN:
        return await ON_THEIR_OWN[name]()
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        return await ON_ONE_SERVER[name](uri)


if __name__ == "__main__":
    names = [*ON_ONE_SERVER, *ON_THEIR_OWN, *PROGRAMS]
    if sys.argv[1:] and sys.argv[1] in PROGRAMS:
        PROGRAMS[sys.argv.pop(1)]()
    elif sys.argv[1:] and sys.argv[1] in names:
        main(sys.argv[1])
    else:
        sys.exit(f"usage: scripts/faults NAME, one of {', '.join(names)}")
