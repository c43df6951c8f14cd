"""The OpenAPI document of a project: the service's own, less what a view cannot call, with typed operations. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from service.bounds import MAX_TYPED_FILTERS
from service.contract.conditions import count_names, operators_taken, text_value
from service.contract.json_types import Schema, new_schema, ref, row_schema
from service.contract.model import Contract, View
from service.contract.names import make_names
from service.contract.typed import COLLECTION, TYPED, Typing
from service.contract.views import pick
from service.contract.written import Room
from service.errors import CollectionNotFound
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


Document = Mapping[str, Any]
# The security schemes that a view has.
SCHEMES = {
    View.SERVER: {"apiKey"},
    View.USERS: {"userToken", "publishableKey"},
    View.ANYONE: {"publishableKey"},
}
SUFFIXES = ("Change", "Document", "Page", "Filters")
OF_USERS = frozenset({"listUsers", "queryUsers", "readUser"})
# Operations that a rule of any collection opens.
BY_ANY_RULE = frozenset({"runAggregation", "runBatch"})
ROLES = "replaceRoles"
# Generic operations that take any declared collection.
OF_COLLECTIONS = frozenset(
    {
        "distinctDocumentValues",
        "aggregateDocuments",
        "bulkUpdateDocuments",
        "bulkDeleteDocuments",
        "importDocuments",
        "exportDocuments",
    }
)
TOO_LARGE = "The document of all collections is too large; name some of them in collections="
FORM = "multipart/form-data"
REFERENCE = re.compile(rb'"#/components/schemas/([^"]+)"')


@dataclass(frozen=True, slots=True)
class Base:
    """The service's own document, and the address at which clients reach the service."""

    document: Document
    url: str


def write_document(contract: Contract, base: Base, view: View, collections: frozenset[str] | None = None) -> bytes:
    """The bytes of the document of all collections, or of those that are named.

    Raises CollectionNotFound for one that the view does not have, TooLarge.
    """
    named = name_types(contract, base.document["components"]["schemas"])
    if collections is not None:
        if missing := collections - {each.name for each in named.collections}:
            raise CollectionNotFound(f"There is no collection {min(missing)}")
        named = pick(named, collections)
    return orjson.dumps(_Document(named, base, view).build())


def name_types(contract: Contract, components: Iterable[str]) -> Contract:
    """The contract with names that no component of the service's own document has."""
    made = make_names(
        [each.name for each in contract.collections],
        suffixes=SUFFIXES,
        taken=[*components, *map("User{}".format, SUFFIXES)],
    )
    return replace(contract, collections=tuple(replace(each, made=made[each.name]) for each in contract.collections))


class _Document:
    """One document while it is built."""

    def __init__(self, contract: Contract, base: Base, view: View) -> None:
        self.contract, self.view, self.base = contract, view, base
        self.own = base.document["components"]["schemas"]
        self.room = Room(TOO_LARGE)
        self.users = UserTypes(contract, has_required=view is View.SERVER)
        names = sum(map(count_names, contract.collections)) + self.users.count_names()
        self.is_typed = names <= MAX_TYPED_FILTERS
        self.typing = Typing(contract, base.document, is_whole=view is View.SERVER, has_names=self.is_typed)

    def build(self) -> dict[str, Any]:
        generic, typed = dict(self._generic_paths()), dict[str, Any]()
        components = dict[str, Any]()
        for entity in self.contract.collections:
            components |= self._pack(dict(self.typing.components(entity)))
            typed |= self._pack(dict(self.typing.paths(entity, self._secure)))
        own = self._own_components(orjson.dumps([generic, self.typing.shared.responses, self.typing.shared.parameters]))
        return {
            "openapi": self.base.document["openapi"],
            "info": {**self.base.document["info"], **({} if self.is_typed else {"x-filters": "patterns"})},
            "servers": [{"url": self.base.url}],
            "tags": [*self._tags(generic)],
            "paths": generic | typed,
            "components": {
                "schemas": own | components,
                "responses": self.typing.shared.responses,
                "parameters": self.typing.shared.parameters,
                "securitySchemes": {
                    name: each
                    for name, each in self.base.document["components"]["securitySchemes"].items()
                    if name in SCHEMES[self.view]
                },
            },
        }

    def _pack(self, parts: Mapping[str, Any]) -> dict[str, orjson.Fragment]:
        """The parts as they stand in the text: it is refused before more of it is made."""
        packed = {name: orjson.dumps(part) for name, part in parts.items()}
        self.room.take_bytes(sum(map(len, packed.values())))
        return {name: orjson.Fragment(part) for name, part in packed.items()}

    def _generic_paths(self) -> Iterator[tuple[str, Any]]:
        for path, item in self.base.document["paths"].items():
            kept = {method: self._kept(each) for method, each in item.items() if self._keeps(method, each)}
            if not kept:
                continue
            parameters = item.get("parameters")
            if path.startswith(f"{COLLECTION}/"):
                parameters = [self._with_names(each) for each in parameters]
            yield path, ({"parameters": parameters} if parameters else {}) | kept

    def _keeps(self, method: str, operation: Any) -> bool:
        if method == "parameters" or operation["operationId"] in TYPED:
            return False
        if operation["security"] and not self._secure(operation):
            return False
        name, contract = operation["operationId"], self.contract
        if name in OF_COLLECTIONS:
            return bool(contract.collections)
        if self.view is View.SERVER:
            return True
        if name in OF_USERS:
            return contract.shows_users
        if name in BY_ANY_RULE:
            return contract.shows_users or bool(contract.collections)
        return name != ROLES or contract.gives_roles

    def _secure(self, operation: Any) -> list[Any]:
        """The credentials of the view that an operation takes."""
        return [each for each in operation["security"] if each.keys() <= SCHEMES[self.view]]

    def _kept(self, operation: Any) -> Any:
        kept = {**operation, "security": self._secure(operation)}
        if self.users.has_filters and self.is_typed and operation["operationId"] == "listUsers":
            kept["parameters"] = [
                {**each, "schema": ref("UserFilters")} if each["name"] == "filters" else each
                for each in operation["parameters"]
            ]
        return kept

    def _with_names(self, parameter: Any) -> Any:
        if parameter["name"] != "name":
            return parameter
        names = [each.name for each in self.contract.collections]
        return {**parameter, "schema": {"type": "string", "enum": names}, "example": names[0]}

    def _tags(self, generic: Mapping[str, Any]) -> Iterator[Any]:
        used = {
            tag
            for item in generic.values()
            for name, each in item.items()
            if name != "parameters"
            for tag in each["tags"]
        }
        known = [each for each in self.base.document["tags"] if each["name"] in used]
        yield from known
        taken = {each["name"] for each in known}
        for each in self.contract.collections:
            if each.name not in taken:
                yield {"name": each.name, "description": f"The documents of {each.name}."}

    def _own_components(self, text: bytes) -> dict[str, Any]:
        """The service's own components that are still named, with the types of this project's users."""
        own = self.users.replace_in(self.own)
        found: dict[str, Any] = {}
        waiting = {each.decode() for each in REFERENCE.findall(text)}
        while waiting:
            name = waiting.pop()
            if name in own and name not in found:
                found[name] = own[name]
                waiting |= {each.decode() for each in REFERENCE.findall(orjson.dumps(own[name]))}
        return {name: found[name] for name in own if name in found}
