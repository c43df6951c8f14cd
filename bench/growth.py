"""The lists of users as a project grows: few users and many beside each other, request for request."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from pymongo import MongoClient, monitoring
from starlette.applications import Starlette

from bench.asgi import call
from bench.commands import CommandRecorder, documents_examined
from bench.figures import Figure, Goal
from bench.population import GROUPS, REFERRED_BY_EACH, SAME_CODE, populated_project
from service.app import create_app
from service.settings import Settings

USERS_PATH = "/auth-collections/users"
FEW = 10_000
WARM_UP = 20
GOAL = Goal("<=", 1.5)

PAGE = "&limit=20&count=false"


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of list.

    Names in braces are drawn for each request; `referrer` is the code of a user who referred others.
    """

    name: str
    query: str
    goal: Goal | None = GOAL


CASES = (
    Case("selective filter, with total", "code_eq={code}"),
    Case("relation filter, rare, with total", "referred_by.code_eq={referrer}"),
    Case("relation filter, one in a hundred", "referred_by.group_eq={group}" + PAGE),
    Case("relation filter, nine of ten", "referred_by.active_eq=true" + PAGE),
    Case("populate", "populate=referred_by" + PAGE),
    Case("sort on created_at", "sort_by=created_at&sort_order=desc" + PAGE),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two projects that are compared."""

    users: int
    api_key: str

    def query(self, case: Case, dice: random.Random) -> str:
        codes = self.users // SAME_CODE
        return case.query.format(
            code=dice.randrange(codes),
            referrer=dice.randrange(codes // REFERRED_BY_EACH),
            group=dice.randrange(GROUPS),
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one kind of list at one size. Times are medians in milliseconds; the rest is of one request."""

    users: int
    request: float
    database: float
    commands: int
    examined: int
    returned: int


def measure_growth(settings: Settings, *, users: int, rounds: int) -> list[Figure]:
    """Each case at 10,000 and at `users` users."""
    recorder = CommandRecorder()
    # Before the service connects: a client takes the listeners that are there when it is made.
    monitoring.register(recorder)
    costs = asyncio.run(_measure(settings, recorder, users, rounds))
    return [_figure(case, *costs[case.name]) for case in CASES]


async def _measure(
    settings: Settings, recorder: CommandRecorder, users: int, rounds: int
) -> dict[str, tuple[Cost, Cost]]:
    sides = [Side(size, (await populated_project(settings, f"users-{size}", size))[1]) for size in (FEW, users)]
    app = create_app(settings)
    uri = settings.mongodb_uri.get_secret_value() if settings.mongodb_uri else ""
    async with app.router.lifespan_context(app):
        with MongoClient[dict[str, Any]](uri) as explainer:
            probe = Probe(app, recorder, explainer)
            return {case.name: await probe.compare(case, sides, rounds) for case in CASES}


class Probe:
    """Sends requests to the application and looks at what each one asked of MongoDB."""

    def __init__(self, app: Starlette, recorder: CommandRecorder, explainer: MongoClient[dict[str, Any]]) -> None:
        self._app = app
        self._recorder = recorder
        self._explainer = explainer
        self._dice = random.Random(11)  # noqa: S311 - which users are asked for is no secret

    async def compare(self, case: Case, sides: Sequence[Side], rounds: int) -> tuple[Cost, Cost]:
        """The cost at each size. The sizes take turns, so that whatever else the machine does disturbs both alike."""
        for _ in range(WARM_UP):
            for side in sides:
                await self._request(case, side)
        times: list[list[tuple[float, float]]] = [[], []]
        for _ in range(rounds):
            for side, found in zip(sides, times, strict=True):
                found.append(await self._timed(lambda side=side: self._request(case, side)))  # type: ignore[misc]
        few, many = [await self._cost(case, side, found) for side, found in zip(sides, times, strict=True)]
        return few, many

    async def _timed(self, work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
        """Milliseconds of the whole request, and of its database commands."""
        self._recorder.reset()
        started = perf_counter()
        await work()
        return (perf_counter() - started) * 1000, self._recorder.milliseconds

    async def _request(self, case: Case, side: Side) -> int:
        """Sends one request and returns the number of users in its answer."""
        query = side.query(case, self._dice)
        status, body = await call(self._app, USERS_PATH, query, {"x-api-key": side.api_key})
        if status != 200:
            raise RuntimeError(f"{query} answered {status}: {body[:200]!r}")
        return len(json.loads(body)["users"])

    async def _cost(self, case: Case, side: Side, times: list[tuple[float, float]]) -> Cost:
        self._recorder.reset()
        returned = await self._request(case, side)
        commands = [c for c in self._recorder.commands if not c[0].endswith("system")]
        examined = sum(documents_examined(self._explainer, *command) for command in commands)
        request, database = (median(column) for column in zip(*times, strict=True))
        return Cost(side.users, request, database, len(commands), examined, returned)


def _figure(case: Case, few: Cost, many: Cost) -> Figure:
    times = (
        f"p50 {few.request:.2f} → {many.request:.2f} ms, database commands {few.database:.2f} → {many.database:.2f} ms"
    )
    work = f"{_round_trips(many)}, {many.examined} documents examined for {many.returned} returned"
    return Figure(
        f"{case.name}: {many.users:,} ÷ {few.users:,} users",
        many.request / few.request,
        "x",
        case.goal,
        f"{times}; {work}",
    )


def _round_trips(cost: Cost) -> str:
    return f"{cost.commands} command{'' if cost.commands == 1 else 's'}"
