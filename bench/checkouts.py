"""Checkouts of this repository, each run as its own users run it: by its commands, over HTTP, on databases of its own.

So two versions can be measured side by side, whatever changed between them: nothing of the other one is imported.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from bench.population import BATCH, generated_users
from bench.processes import server_process
from bench.stage import PROJECT, Stage, sign_up
from service.settings import Settings

HERE = Path(__file__).parent.parent
# Limits that every version has, and that are counted but never reached.
LIMITS = {"TIER": "enterprise"} | dict.fromkeys(
    ("DAILY_LIMIT", "SIGNUP_LIMIT", "LOGIN_LIMIT", "AUTH_LIMIT"), str(10**9)
)
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working copy, and the prefix of the databases that it gets."""

    path: Path
    prefix: str

    @property
    def database(self) -> str:
        return f"{self.prefix}p_{PROJECT}"


def python_of(checkout: Path) -> str:
    """Its own interpreter where it has one; of the two, the working directory's `service` is the one imported."""
    own = checkout / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


@contextmanager
def running(
    checkout: Checkout, settings: Settings, users: int, further: Mapping[str, str] = NOTHING
) -> Iterator[Stage]:
    """The checkout's service with one project of so many users, on empty databases that are dropped afterwards.

    The project has the settings LIMITS, and those that are `further` given.
    """
    environment = _environment(checkout, settings)
    with MongoClient[dict[str, Any]](settings.database_uri) as client:
        _drop(client, checkout)
        try:
            api_key = _create_project(checkout, environment, {**LIMITS, **further})
            _fill(client, checkout, users)
            with server_process(
                "service", "serve", environment=environment, directory=checkout.path, python=python_of(checkout.path)
            ) as server:
                yield sign_up(server, api_key)
        finally:
            _drop(client, checkout)


def _environment(checkout: Checkout, settings: Settings) -> dict[str, str]:
    return {
        "DATABASE_PREFIX": checkout.prefix,
        "DATA_DIR": str(settings.data_dir),
        "MONGODB_URI": settings.database_uri,
        "SECRET_KEY": settings.secret_key.get_secret_value() if settings.secret_key else "",
    }


def _create_project(checkout: Checkout, environment: Mapping[str, str], chosen: Mapping[str, str]) -> str:
    """The API key."""
    values = [part for name, value in chosen.items() for part in ("--set", f"{name}={value}")]
    created = ["project", "create", "Bench", "--json", "--id"]
    command = [python_of(checkout.path), "-m", "service", *created, PROJECT, *values]
    made = subprocess.run(  # noqa: S603 - our own command
        command, cwd=checkout.path, env={**os.environ, **environment}, capture_output=True, check=True
    )
    return str(json.loads(made.stdout)["api_key"])


def _fill(client: MongoClient[dict[str, Any]], checkout: Checkout, users: int) -> None:
    made = generated_users(users)
    while some := list(islice(made, BATCH)):
        client[checkout.database]["users"].insert_many(some, ordered=False)


def _drop(client: MongoClient[dict[str, Any]], checkout: Checkout) -> None:
    for name in client.list_database_names():
        if name.startswith(checkout.prefix):
            client.drop_database(name)
