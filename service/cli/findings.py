"""One thing that `auth-collections check` looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether it is as it must be, and in words what is and what to do. `good` is None where nobody can tell."""

    good: bool | None
    text: str

    def __str__(self) -> str:
        label = "NOTE " if self.good is None else "ok   " if self.good else "WRONG"
        return f"{label} {self.text}"
