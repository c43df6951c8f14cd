"""The demo project: the 77 characters of Les Misérables, who know and refer each other."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.resources import files
from typing import Any

from service.domain.accounts.passwords import Passwords
from service.domain.projects.admin import Fill, ProjectAdmin
from service.domain.projects.lookup import Project
from service.errors import ProjectNotFound
from service.schema.values import now
from service.storage.ids import new_id
from service.storage.users import NewUser

DEMO_ID = "demo"
# Ten times the defaults: enough to try everything out, and still the limits answer as they would.
DEMO_SETTINGS = {"TIER": "pro", "SIGNUP_LIMIT": "100", "LOGIN_LIMIT": "200", "AUTH_LIMIT": "10000"}
DEMO_PASSWORD = "les-miserables"  # noqa: S105 - printed with the demo project's key


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo project; `api_key` is None unless it was made just now."""

    project: Project
    api_key: str | None


async def ensure_demo(admin: ProjectAdmin, passwords: Passwords, *more: Fill) -> Demo:
    """Makes the demo project unless it is there: its users, then whatever `more` put into it."""
    try:
        return Demo(await admin.find(DEMO_ID), None)
    except ProjectNotFound:
        project, api_key = await admin.create("Les Misérables", DEMO_ID, DEMO_SETTINGS, partial(_fill, passwords, more))
        return Demo(project, api_key)


async def _fill(passwords: Passwords, more: Sequence[Fill], project: Project) -> None:
    if await project.users.has_any():
        # A first run that was cut short left data of a project that nobody could find.
        await project.database.drop()
        await project.database.ensure_indexes()
    # All share one password, so one hash serves.
    password = await passwords.hash(DEMO_PASSWORD)
    await project.users.insert_each(list(_characters(password)))
    for fill in more:
        await fill(project)


def _characters(password: str) -> Iterator[NewUser]:
    """The 77 users, in the order of the data, a millisecond apart so that the order lasts."""
    graph = json.loads((files("service.seeding.demo") / "data" / "miserables.json").read_text("utf-8"))
    ids = [new_id() for _ in graph["nodes"]]
    moment = now()
    for index, node in enumerate(graph["nodes"]):
        links = [link for link in graph["links"] if index in (link["source"], link["target"])]
        data = {"name": node["name"], "group": node["group"], **_relations(index, links, ids)}
        created_at = moment + timedelta(milliseconds=index)
        yield NewUser(_email(node["name"]), password, data, ids[index], created_at=created_at)


def _relations(index: int, links: list[dict[str, int]], ids: list[str]) -> dict[str, Any]:
    """Everyone follows all neighbours; the lower-index neighbour met most often referred one (the first of equals)."""
    neighbours = [(link["source"] + link["target"] - index, link["value"]) for link in links]
    relations: dict[str, Any] = {"following": [ids[neighbour] for neighbour, _ in neighbours]}
    earlier = [(neighbour, value) for neighbour, value in neighbours if neighbour < index]
    if earlier:
        relations["referred_by_id"] = ids[max(earlier, key=lambda pair: pair[1])[0]]
    return relations


def _email(name: str) -> str:
    return f"{re.sub('[^a-z0-9]+', '.', name.lower()).strip('.')}@example.com"
