"""Bounds the collections and indexes a project may make in five minutes.

MongoDB keeps the files of a dropped one open for as long as it answers reads of the past, by default five minutes. So a
project that declares and deletes in turn would use up the files that mongod may open, and mongod ends when it has none.
"""

from service.bounds import MAX_MADE_FILES
from service.domain.limits.limiter import Limits
from service.domain.limits.policies import Policy
from service.domain.projects.lookup import Project

MADE_FILES = Policy("made_files", 300, "collections and indexes made in five minutes", lambda _: MAX_MADE_FILES)
# The collection's own, that of its ids, and the two that every collection has.
OF_A_COLLECTION = 4


async def count_collection(limits: Limits, project: Project, indexes: int) -> None:
    """Counts a collection with so many indexes of its definition. Raises LimitExceeded."""
    await limits.take_all(project, MADE_FILES, OF_A_COLLECTION + indexes)


async def count_indexes(limits: Limits, project: Project, number: int) -> None:
    """Raises LimitExceeded."""
    if number:
        await limits.take_all(project, MADE_FILES, number)
