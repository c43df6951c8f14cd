"""What an import did: counts, the first refused lines, and the errors of all refused lines by their kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.bounds import MAX_ERROR_GROUPS, MAX_LINE_ERRORS, MAX_VIOLATIONS
from service.errors import Location, Violation

# Of one line.
LISTED_VIOLATIONS = 10


@dataclass(frozen=True, slots=True)
class LineErrors:
    line: int
    violations: list[Violation]


@dataclass(slots=True)
class ErrorGroup:
    """An error of `count` lines, as the first of them has it."""

    violation: Violation
    line: int
    count: int = 0


@dataclass(slots=True)
class ImportReport:
    """What became of the lines so far. The first refused ones are listed in the order of lines."""

    created: int = 0
    updated: int = 0
    refused: int = 0
    errors: list[LineErrors] = field(default_factory=list)
    _groups: dict[tuple[Location, str], ErrorGroup] = field(default_factory=dict)

    @property
    def groups(self) -> list[ErrorGroup]:
        """The kinds of errors, the most frequent first."""
        return sorted(self._groups.values(), key=lambda group: -group.count)

    def refuse(self, refused: Mapping[int, list[Violation]]) -> None:
        """Line → what is wrong with it, of one batch."""
        self.refused += len(refused)
        lines = sorted(refused)
        for line in lines[: max(0, MAX_LINE_ERRORS - len(self.errors))]:
            self.errors.append(LineErrors(line, refused[line][:LISTED_VIOLATIONS]))
        for line in lines:
            self._group(line, refused[line][:MAX_VIOLATIONS])

    def _group(self, line: int, violations: list[Violation]) -> None:
        """Counts each kind once: errors of one type at one place, whatever the position in an array."""
        for key, violation in {_kind(violation): violation for violation in reversed(violations)}.items():
            if key not in self._groups and len(self._groups) < MAX_ERROR_GROUPS:
                self._groups[key] = ErrorGroup(violation, line)
            if key in self._groups:
                self._groups[key].count += 1


def _kind(violation: Violation) -> tuple[Location, str]:
    return tuple(part for part in violation.loc if isinstance(part, str)), violation.type
