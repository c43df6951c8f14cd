"""Users as the project's servers ask for them: the fields of the account have names, beside those of every user. Pure.

roles_eq=admin              the user has the role; a user without roles has none of them
disabled_eq=false           a flag that a record lacks is false
claims.plan_eq=pro          one claim, by its name
identities.provider_eq=x    the user has signed in by the provider
last_sign_in_at_gte=...     the user has signed in since; null before the first time

To everybody else no record has such a field.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from service.query.operands import typed
from service.query.operators import OPERATORS, QueryOperator
from service.query.shapes import USERS, ShapeField, UserShape, hidden_field, local_of
from service.query.tree import Leaf, Tree
from service.schema.values import Kind, readings

CLAIMS, LAST_SIGN_IN = "claims", "last_sign_in_at"
# The names of the account's own fields, with which a path begins. They cannot be sorted by.
ACCOUNT_NAMES = frozenset({"roles", "disabled", "email_verified", CLAIMS, "identities", LAST_SIGN_IN})
# The ones of them that are read for a list.
SHOWN = ("email_verified", "disabled", CLAIMS, "roles", LAST_SIGN_IN)
NO_CLAIMS: Mapping[str, Any] = {}
ReadFlag = Callable[[Any], bool]


def show_account(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a user as servers see it in a list. `roles` and `last_sign_in_at` are left out if they were never set."""
    shown = {
        "id": row["_id"],
        "email": row.get("email"),
        "data": row["data"],
        "created_at": row["created_at"],
        "email_verified": row.get("email_verified", False),
        "disabled": row.get("disabled", False),
        "claims": row.get("claims", NO_CLAIMS),
    }
    if "email" not in row:
        shown["anonymous"] = True
    if roles := row.get("roles"):
        shown["roles"] = roles
    if moment := row.get(LAST_SIGN_IN):
        shown[LAST_SIGN_IN] = moment
    return shown


def _read_text(text: str) -> bool:
    (value,) = readings(text, Kind.BOOLEAN)
    return value is True


def _read_json(value: Any) -> bool:
    return typed(value, Kind.BOOLEAN) is True


def _flag(is_ne: bool, read: ReadFlag, path: str, _kind: Kind, value: Any) -> Tree:
    """A flag is stored if it is true; a record without it means false."""
    return Leaf(path, "eq", True, negated=read(value) is is_ne)


def _is_empty(read: ReadFlag, path: str, _kind: Kind, value: Any) -> Tree:
    """An empty list is as null as an absent one. Any text is at least the empty text."""
    return Leaf(path, "gte", "", negated=read(value))


def _by_flag(read: Callable[..., Tree]) -> QueryOperator:
    return QueryOperator(partial(read, _read_text), partial(read, _read_json))


FLAG = {"eq": _by_flag(partial(_flag, False)), "ne": _by_flag(partial(_flag, True))}
LIST = {**{name: OPERATORS[name] for name in ("eq", "ne", "in")}, "isnull": _by_flag(_is_empty)}
CLAIM = {"eq": OPERATORS["eq"]}
MOMENT = {name: OPERATORS[name] for name in ("gt", "gte", "lt", "lte", "isnull")}

FIELDS: Mapping[tuple[str, ...], ShapeField] = {
    ("roles",): ShapeField("roles", Kind.STRING, many=True, operators=LIST),
    ("disabled",): ShapeField("disabled", Kind.BOOLEAN, single=True, operators=FLAG),
    ("email_verified",): ShapeField("email_verified", Kind.BOOLEAN, single=True, operators=FLAG),
    (LAST_SIGN_IN,): ShapeField(LAST_SIGN_IN, Kind.DATETIME, single=True, operators=MOMENT),
    ("identities", "provider"): ShapeField("identities.provider", Kind.STRING, many=True, operators=LIST),
}


class AccountShape:
    """The users of `UserShape`, with the fields of their accounts."""

    collection = UserShape.collection
    listed = (*UserShape.listed, *SHOWN)
    related = UserShape.related
    match = UserShape.match
    view = None
    nested = UserShape.nested | {CLAIMS, "identities"}

    def names(self) -> Iterable[str]:
        return (*USERS.names(), *(path[0] for path in FIELDS if len(path) == 1))

    def field(self, path: tuple[str, ...]) -> ShapeField | None:
        if path[0] not in ACCOUNT_NAMES:
            return USERS.field(path)
        is_claim = path[0] == CLAIMS and len(path) == 2
        return ShapeField(".".join(path), Kind.ANY, operators=CLAIM) if is_claim else FIELDS.get(path)

    def sort_field(self, path: tuple[str, ...]) -> ShapeField | None:
        return None if path[0] in ACCOUNT_NAMES else USERS.sort_field(path)

    def relation(self, name: str) -> "AccountShape":  # noqa: ARG002 - any name may be a relation
        return self

    def local(self, name: str) -> str:
        return local_of(name)

    def relations(self) -> None:
        return None


class ProfileShape(UserShape):
    """Users as everybody else asks for them: no record has a field of the account, and `data` is as free as ever."""

    nested = AccountShape.nested

    def field(self, path: tuple[str, ...]) -> ShapeField:
        return hidden_field(path) if path[0] in ACCOUNT_NAMES else super().field(path)

    sort_field = field


ACCOUNTS = AccountShape()
PROFILES = ProfileShape()
