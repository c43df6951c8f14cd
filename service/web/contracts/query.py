"""The query strings of a project's contract: the view, and what is asked for of it."""

from collections.abc import Collection, Mapping

from starlette.requests import Request

from service.bounds import MAX_CONTRACT_COLLECTIONS
from service.contract.model import View
from service.domain.access.caller import OperatorCaller, PublishableKeyCaller, SecretKeyCaller
from service.errors import Invalid, SecretKeyRequired, Violation
from service.query.parse import parse_pairs

VIEWS = [each.value for each in View]
KeyCaller = SecretKeyCaller | PublishableKeyCaller | OperatorCaller


def read_query(
    request: Request, choices: Mapping[str, Collection[str]], *, free: Collection[str] = ()
) -> dict[str, str]:
    """The parameters, each one of its `choices`; those that are `free` have any value. Raises Invalid."""
    sent = dict(parse_pairs(request.scope["query_string"]))
    known = [*choices, *free]
    violations = [
        Violation(("query", name), f"This endpoint takes only {', '.join(known)}", "extra_forbidden")
        for name in sent
        if name not in known
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
    own = View.ANYONE if isinstance(caller, PublishableKeyCaller) else View.SERVER
    view = View(sent.get("view", own.value))
    if view is not own and own is View.ANYONE:
        raise SecretKeyRequired
    return view


def read_names(sent: Mapping[str, str]) -> frozenset[str] | None:
    """The names in `collections`; None without it. Raises Invalid."""
    if "collections" not in sent:
        return None
    names = sent["collections"].split(",")
    if len(names) > MAX_CONTRACT_COLLECTIONS:
        raise Invalid.one(("query", "collections"), f"Name at most {MAX_CONTRACT_COLLECTIONS} collections")
    if "" in names or len(set(names)) < len(names):
        raise Invalid.one(("query", "collections"), "Name each collection once, separated by commas")
    return frozenset(names)
