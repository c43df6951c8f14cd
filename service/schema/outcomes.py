"""The outcome of trying something outside of the service, step by step."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TrialStep:
    """One step: its name, its outcome, and for people the reason of a failure or what was found."""

    step: str
    ok: bool
    detail: str | None = None


@dataclass(slots=True)
class Trial:
    """The steps in their order; the last one failed, or all succeeded. `reply` is the last line of the peer, if shown."""

    steps: list[TrialStep] = field(default_factory=list)
    reply: str | None = None

    @property
    def ok(self) -> bool:
        return all(step.ok for step in self.steps)

    def passed(self, step: str, detail: str | None = None) -> None:
        self.steps.append(TrialStep(step, ok=True, detail=detail))

    def failed(self, step: str, detail: str) -> None:
        self.steps.append(TrialStep(step, ok=False, detail=detail))
