"""The commands a request sends to MongoDB, as the driver reports them, and the documents each examines."""

from collections.abc import Mapping
from typing import Any

from pymongo import MongoClient
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

# Commands that the driver sends on its own behalf, not for a request.
OWN = frozenset({"hello", "ping", "endSessions", "saslStart", "saslContinue"})
# The commands that MongoDB explains, and the parts of each that decide how records are found.
EXPLAINED = {
    "aggregate": ("aggregate", "pipeline", "cursor"),
    "find": ("find", "filter", "sort", "skip", "limit", "projection"),
    "count": ("count", "query"),
}


class CommandRecorder(CommandListener):
    """Keeps the commands since the last `reset`, and the milliseconds that they took together."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.milliseconds = 0.0

    def reset(self) -> None:
        self.commands, self.milliseconds = [], 0.0

    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name not in OWN:
            self.commands.append((event.database_name, dict(event.command)))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        if event.command_name not in OWN:
            self.milliseconds += event.duration_micros / 1000

    def failed(self, event: CommandFailedEvent) -> None:
        self.milliseconds += event.duration_micros / 1000


def documents_examined(client: MongoClient[dict[str, Any]], database: str, command: dict[str, Any]) -> int:
    """Returns the documents the server examines for a command that reads, lookups included; 0 for a count by metadata."""
    parts = EXPLAINED.get(next(iter(command)), ())
    explained = {part: command[part] for part in parts if part in command}
    if not explained:
        return 0
    return _sum(client[database].command("explain", explained, verbosity="executionStats"))


def _sum(plan: Any) -> int:
    """The sum of all `totalDocsExamined`. A stage that has one sums up what is below it, so nothing is counted twice."""
    if isinstance(plan, list):
        return sum(_sum(part) for part in plan)
    if not isinstance(plan, Mapping):
        return 0
    if "totalDocsExamined" in plan:
        return int(plan["totalDocsExamined"])
    return sum(_sum(part) for part in plan.values())
