"""Long work on the event loop, done in steps: all other requests have their turn between two of them.

No project can hold the worker: after the first millisecond of its work, projects take turns of at most STEP_SECONDS.
Beside others the long work of a project has a share of the event loop.
"""

import asyncio
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakSet

from service.bounds import MAX_STEPS_WAITING
from service.domain.paces import PRESENCE, Fewer
from service.domain.shares import Turns
from service.errors import Unavailable
from service.query.closures import judge_in_steps
from service.query.reading import Reading
from service.query.tree import Tree
from service.schema.steps import Steps, take_steps
from service.storage.databases import ProjectDatabase

T = TypeVar("T")

# The time that each piece of work has at once, without a turn. Most work is done in it.
FIRST_SECONDS = 0.001
# The time of one turn, after which other requests go on, and then another project. A request of a project waits for one
# turn at each of its awaits, so a turn beside others is shorter.
STEP_SECONDS, SHORT_STEP_SECONDS = 0.002, 0.001
# The seconds of each second that the long work of a project has while other projects ask, and those that it saves up.
SHARE, SAVED_SECONDS = 0.5, 0.02

LOOP_SHARE = Fewer(1, 0.0, PRESENCE, share=SHARE, saved=SAVED_SECONDS)
# One for the worker, as its event loop is.
_turns = Turns(1, waiting=MAX_STEPS_WAITING, retry_after=1, slow=LOOP_SHARE)
_left: WeakSet[asyncio.Task[Any]] = WeakSet()


async def run_in_steps(database: ProjectDatabase, steps: Steps[T]) -> T:
    """The result of `steps`, which are work on records of a project's database.

    No other work is done during one step. Raises Busy; Unavailable if the client of the request is gone.
    """
    found = take_steps(steps, FIRST_SECONDS)
    while found is None:
        found = await _take_turn(database.database.name, steps)
    return found


async def _take_turn(name: str, steps: Steps[T]) -> T | None:
    """One turn of a project's long work; None if the work did not end in it."""
    await _turns.acquire(name)
    took = 0.0
    try:
        _check_client()
        began = monotonic()
        found = take_steps(steps, SHORT_STEP_SECONDS if PRESENCE.has_others(name) else STEP_SECONDS)
        # The project does not owe the time of others' work until its next turn.
        took = monotonic() - began
        # The next turn begins when the loop has gone round once.
        await asyncio.sleep(0)
    finally:
        _turns.release(name, took)
    return found


async def judge(database: ProjectDatabase, tree: Tree, reading: Reading) -> bool:
    """True if the record that is read satisfies `tree`, which has no relations. Raises as `run_in_steps`."""
    return tree if isinstance(tree, bool) else await run_in_steps(database, judge_in_steps(tree, reading))


def stop_steps(task: asyncio.Task[Any]) -> None:
    """The client of this request has left: its long work ends at its next turn. Commands to MongoDB are not interrupted."""
    _left.add(task)


def _check_client() -> None:
    if asyncio.current_task() in _left:
        error = Unavailable()
        error.cause = "the client has left"
        raise error
