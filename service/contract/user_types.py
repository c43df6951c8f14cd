"""The users of a project in its document: their declared fields in the service's own components. Pure."""

from collections.abc import Mapping
from typing import Any

from service.contract.conditions import operators_taken, text_value
from service.contract.json_types import Schema, new_schema, ref, row_schema
from service.contract.model import Contract
from service.query.names import NAME
from service.query.operators import OPERATORS
from service.query.shapes import USERS
from service.schema.values import Kind

# The components that hold the `data` of a user: as it is read, and as it is sent.
READ = ("OwnUser", "Profile", "ReadUser", "UserAccount", "UserRecord", "VisibleUser")
SENT = ("NewUserForm", "UserChangeForm")
# The components whose own fields are those of `data`.
FLAT = ("Signup", "ProfileChanges")


class UserTypes:
    """The components about users: `User`, `NewUser` and, where fields are declared, `UserFilters`."""

    def __init__(self, contract: Contract, *, has_required: bool) -> None:
        users = contract.users
        self._users = users
        self._row = row_schema(users, contract, is_certain=has_required)
        self._new = new_schema(users)
        self.has_filters = bool(users.members)

    def count_names(self) -> int:
        return len(self._filters()["properties"]) if self.has_filters else 0

    def replace_in(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """The service's own components with the types of these users in them, and the new ones."""
        typed = {name: _with_data(own[name], "User") for name in READ} | {
            name: _with_data(own[name], "NewUser") for name in SENT
        }
        flat = {name: self._with_fields(own[name]) for name in FLAT}
        made = {"User": self._row, "NewUser": self._new}
        return {**own, **typed, **flat, **made, **({"UserFilters": self._filters()} if self.has_filters else {})}

    def _with_fields(self, component: Any) -> Any:
        properties = {**self._new["properties"], **component.get("properties", {})}
        return {**component, "properties": properties, "additionalProperties": self._users.additional}

    def _filters(self) -> Schema:
        """The conditions of a list of users: free-form data takes every operator under any name."""
        kinds = {name: field.kind for name, field in USERS.named.items()}
        kinds |= dict.fromkeys(self._users.readable, Kind.ANY)
        names = {
            f"{path}_{operator}": text_value(operator, kind)
            for path, kind in kinds.items()
            for operator in operators_taken(kind)
        }
        pattern = rf"^{NAME}(\.{NAME})*_({'|'.join(OPERATORS)})$"
        return {
            "type": "object",
            "properties": names,
            "patternProperties": {pattern: {}},
            "additionalProperties": False,
        }


def _with_data(component: Any, made: str) -> Any:
    return {**component, "properties": {**component["properties"], "data": ref(made)}}
