"""One thing that `auth-collections check` looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, and a text with the state and the remedy. `good` is None if the check cannot decide."""

    good: bool | None
    text: str

    def __str__(self) -> str:
        label = "NOTE " if self.good is None else "ok   " if self.good else "WRONG"
        return f"{label} {self.text}"
