"""The query strings of a project's contract: the view, and what is asked for of it."""

from collections.abc import Collection, Mapping

from starlette.requests import Request

from service.contract.model import View
from service.domain.access.caller import PublishableKeyCaller, SecretKeyCaller
from service.errors import Invalid, SecretKeyRequired, Violation
from service.query.parse import parse_pairs

VIEWS = [each.value for each in View]
KeyCaller = SecretKeyCaller | PublishableKeyCaller


def read_query(request: Request, choices: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The parameters, each one of its `choices`; each may be left out. Raises Invalid."""
    sent = dict(parse_pairs(request.scope["query_string"]))
    violations = [
        Violation(("query", name), f"This endpoint takes only {' and '.join(choices)}", "extra_forbidden")
        for name in sent
        if name not in choices
    ]
    violations += [
        Violation(("query", name), f"Must be one of {', '.join(values)}", "enum")
        for name, values in choices.items()
        if name in sent and sent[name] not in values
    ]
    if violations:
        raise Invalid(violations)
    return sent


def choose_view(caller: KeyCaller, sent: Mapping[str, str]) -> View:
    """The view that a key may ask for, which is its own by default. Raises SecretKeyRequired."""
    own = View.SERVER if isinstance(caller, SecretKeyCaller) else View.ANYONE
    view = View(sent.get("view", own.value))
    if view is not own and own is View.ANYONE:
        raise SecretKeyRequired
    return view
