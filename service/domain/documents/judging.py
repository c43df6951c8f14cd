"""Refusals by rules: each is judged again by newer sets before it stands, and then noted for the log."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from service.domain.access.control import name_rule
from service.errors import DocumentNotFound, Forbidden, Unauthorized
from service.observe.requests import note_refusal

# The rule that decides about a call, where it has another name.
RULES = {"change": "update", "get": "read", "upsert": "update"}


class Renewable(Protocol):
    """The documents of the collection `name` as a caller may use them."""

    @property
    def name(self) -> str: ...

    async def renewed(self) -> Self | None:
        """The same by the caller's sets as they are now; None where those are no others."""


Documents = TypeVar("Documents", bound=Renewable)
Sent = ParamSpec("Sent")
Result = TypeVar("Result")
Attempt = Callable[Concatenate[Documents, Sent], Coroutine[Any, Any, Result]]


def judged_again(attempt: Attempt[Documents, Sent, Result]) -> Attempt[Documents, Sent, Result]:
    """A refusal stands only by sets that were read during the request; what is refused has written nothing."""
    rule = RULES.get(attempt.__name__, attempt.__name__)

    @wraps(attempt)
    async def attempt_again(documents: Documents, /, *args: Sent.args, **kwargs: Sent.kwargs) -> Result:
        try:
            return await attempt(documents, *args, **kwargs)
        except (DocumentNotFound, Forbidden, Unauthorized) as refusal:
            if (newer := await documents.renewed()) is None:
                if not isinstance(refusal, DocumentNotFound):
                    note_refusal(name_rule(documents.name, rule))
                raise
        return await attempt_again(newer, *args, **kwargs)

    return attempt_again
