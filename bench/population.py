"""Projects with generated users, kept between runs, for a million users take minutes to make."""

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from service.domain.projects.lookup import Project
from service.errors import ProjectNotFound
from service.services import Services, build_services
from service.settings import Settings

BATCH = 2_000
SAME_CODE = 5
GROUPS = 100
REFERRED_BY_EACH = 10
START = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
LIMITS = ("DAILY_LIMIT", "SIGNUP_LIMIT", "LOGIN_LIMIT", "AUTH_LIMIT", "FILE_LIMIT")
# The limits count every request, and none is refused: that is what a request costs where limits are on.
ROOMY = {"TIER": "enterprise"} | dict.fromkeys(LIMITS, str(10**9))
FREE = {"TIER": "enterprise"} | dict.fromkeys(LIMITS, "0")


async def populated_project(
    settings: Settings, project_id: str, users: int, *, limits: Mapping[str, str] = ROOMY
) -> tuple[Project, str]:
    """The project with so many users, made if it is not there, and a new API key of it."""
    services = build_services(settings)
    try:
        return await _ensure(services, project_id, users, limits)
    finally:
        await services.close()


async def _ensure(services: Services, project_id: str, users: int, limits: Mapping[str, str]) -> tuple[Project, str]:
    admin = services.base.admin
    try:
        project = await admin.find(project_id)
        return project, (await services.base.keys.rotate(project_id)).key
    except ProjectNotFound:
        made, keys = await admin.create(f"{users} users", project_id, limits, lambda project: _fill(project, users))
        return made, keys.secret


async def _fill(project: Project, users: int) -> None:
    """Indexes come after the records: building them once is faster than keeping them up to date."""
    await project.database.drop()
    batch: list[dict[str, Any]] = []
    for user in generated_users(users):
        batch.append(user)
        if len(batch) == BATCH:
            await project.database.records("users").insert_many(batch)
            batch = []
    if batch:
        await project.database.records("users").insert_many(batch)
    await project.database.ensure_indexes()


def generated_users(count: int) -> Iterator[dict[str, Any]]:
    """The same users at each call.

    Five share a `code`; one in a hundred is of each `group`; nine of ten are `active`. Each user referred ten others;
    the first one was not referred.
    """
    dice = random.Random(7)  # noqa: S311 - made-up people, not secrets
    for number in range(count):
        moment = START + timedelta(milliseconds=number)
        yield {
            "_id": user_id(number),
            "email": email(number),
            "password": "no password matches this",
            "data": _profile(number, dice),
            "created_at": moment,
            "updated_at": moment,
            "files": {},
            "token_version": 1,
        }


def _profile(number: int, dice: random.Random) -> dict[str, Any]:
    profile = {
        "name": f"User {number}",
        "code": number // SAME_CODE,
        "group": dice.randrange(GROUPS),
        "age": dice.randrange(18, 90),
        "active": dice.random() < 0.9,
        "address": {"city": f"City {dice.randrange(1_000)}", "zip": f"{dice.randrange(100_000):05}"},
        "tags": [f"tag{dice.randrange(50)}", f"tag{dice.randrange(50)}"],
    }
    return profile | ({"referred_by_id": user_id(number // REFERRED_BY_EACH)} if number else {})


def user_id(number: int) -> str:
    return f"{number:024x}"


def email(number: int) -> str:
    return f"user{number}@example.com"
