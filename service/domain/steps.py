"""Long work on the event loop, done in steps: all other requests have their turn between two of them.

No project can hold the worker: after the first millisecond of its work, projects take turns of at most STEP_SECONDS.
"""

import asyncio
from typing import Any, TypeVar
from weakref import WeakSet

from service.bounds import MAX_STEPS_WAITING
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
# The time of one turn, after which other requests go on, and then another project.
STEP_SECONDS = 0.002

# One for the worker, as its event loop is.
_turns = Turns(1, waiting=MAX_STEPS_WAITING, retry_after=1)
_left: WeakSet[asyncio.Task[Any]] = WeakSet()


async def run_in_steps(database: ProjectDatabase, steps: Steps[T]) -> T:
    """The result of `steps`, which are work on records of a project's database.

    No other work is done during one step. Raises Busy; Unavailable if the client of the request is gone.
    """
    found = take_steps(steps, FIRST_SECONDS)
    while found is None:
        async with _turns.take(database.database.name):
            _check_client()
            found = take_steps(steps, STEP_SECONDS)
            # The next turn begins when the loop has gone round once.
            await asyncio.sleep(0)
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
