"""The components and operations of one collection in a project's document, made of the service's generic ones. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from service.bounds import MAX_COUNTS
from service.contract.conditions import filters_schema, loose_where, where_schema
from service.contract.json_types import (
    ID,
    TIME,
    Schema,
    change_schema,
    file_of,
    new_schema,
    object_of,
    ref,
    row_schema,
)
from service.contract.model import Contract, Entity, RuleAction, find_counted
from service.schema.fields import Field
from service.schema.values import Kind

# Examples of the service's own document are about its demo, and no values for another schema.
EXAMPLES = ("example", "examples")
PREFIX = "#/components"
# Its own schema lists the broken rules.
VALIDATION = "422"


class Shared:
    """The components so far, by their names."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}
        self.responses: dict[str, Any] = {}

    def parameter(self, operation: str, parameter: Any) -> Any:
        """A reference to a parameter of a generic operation."""
        name = f"{operation}.{parameter['name']}"
        self.parameters[name] = {key: value for key, value in parameter.items() if key not in EXAMPLES}
        return {"$ref": f"{PREFIX}/parameters/{name}"}

    def response(self, operation: str, status: str, response: Any) -> Any:
        """A reference to an answer of a generic operation."""
        name = f"{operation}.{status}"
        self.responses[name] = _with_one_schema(status, response)
        return {"$ref": f"{PREFIX}/responses/{name}"}


def _with_one_schema(status: str, response: Any) -> Any:
    """The answer of an error by its shared schema: a made client has a type for each schema that stands in an answer."""
    if status < "400" or status == VALIDATION:
        return response
    content = {kind: {**each, "schema": ref("Error")} for kind, each in response["content"].items()}
    return {**response, "content": content}


COLLECTION = "/api/collections/{name}"
JSON, FORM = "application/json", "multipart/form-data"
FILTERS = "Any number of `<field>_<operator>=<value>`; all must hold. Each is a parameter of its own."
# The generic operations that are there for each collection by its name: the typed name, and the action that opens them.
TYPED = {
    "listDocuments": ("list", RuleAction.READ),
    "queryDocuments": ("query", RuleAction.READ),
    "readDocument": ("get", RuleAction.READ),
    "createDocument": ("create", RuleAction.CREATE),
    "upsertDocument": ("upsert", RuleAction.CREATE),
    "replaceDocument": ("replace", RuleAction.UPDATE),
    "mergeDocument": ("update", RuleAction.UPDATE),
    "deleteDocument": ("delete", RuleAction.DELETE),
}
# A change that names nothing but its condition.
ONLY_WHERE: Schema = {"required": ["where"], "maxProperties": 1}
Secure = Callable[[Any], list[Any]]


class Typing:
    """Makes the parts of collections. `is_whole`: every caller reads what it has written. `has_names`: filters have names."""

    def __init__(self, contract: Contract, base: Mapping[str, Any], *, is_whole: bool, has_names: bool) -> None:
        self._contract, self._paths = contract, base["paths"]
        self._own: Mapping[str, Any] = base["components"]["schemas"]
        self._is_whole, self._has_names = is_whole, has_names
        self._counted = find_counted(contract.collections)
        self.shared = Shared()

    def components(self, entity: Entity) -> Iterator[tuple[str, Schema]]:
        """The schemas that the operations of a collection name."""
        made, actions = entity.made, entity.actions
        writes = actions & {RuleAction.CREATE, RuleAction.UPDATE}
        yield made, row_schema(entity, self._contract)
        yield f"{made}Document", object_of(_document(made), _document(made))
        if writes:
            yield f"New{made}", new_schema(entity)
        if RuleAction.UPDATE in actions:
            yield f"{made}Change", self._change(entity)
        if RuleAction.READ in actions:
            yield f"{made}Page", self._page(entity)
            yield f"{made}Where", where_schema(entity) if self._has_names else loose_where(entity)
            yield f"{made}Filters", filters_schema(entity) if self._has_names else self._patterns()

    def _page(self, entity: Entity) -> Schema:
        page = self._own["DocumentList"]
        documents = {"type": "array", "items": ref(f"{entity.made}Document")}
        return _untitled(page) | {"properties": {**page["properties"], "documents": documents}}

    def _change(self, entity: Entity) -> Schema:
        change = self._own["DocumentChange"]
        properties = {
            **{name: _filled(each) for name, each in _without_words(change["properties"]).items()},
            "data": change_schema(entity),
            "where": ref(f"{entity.made}Where"),
        }
        return _untitled(change) | {"properties": properties, "minProperties": 1, "not": ONLY_WHERE}

    def _patterns(self) -> Schema:
        """The filters of the generic list."""
        listed = self._paths[f"{COLLECTION}/documents"]["get"]["parameters"]
        found: Schema = next(each["schema"] for each in listed if each["name"] == "filters")
        return found

    def paths(self, entity: Entity, secure: Secure) -> Iterator[tuple[str, Any]]:
        """The paths of a collection, with the operations that its actions open; `secure` gives their credentials."""
        for path, item in self._paths.items():
            if not path.startswith(f"{COLLECTION}/"):
                continue
            typed = {
                method: self._operation(each, entity, secure)
                for method, each in item.items()
                if method != "parameters" and _opens(each["operationId"], entity)
            }
            if typed:
                parameters = [each for each in item["parameters"] if each["name"] != "name"]
                yield path.replace("{name}", entity.name), ({"parameters": parameters} if parameters else {}) | typed

    def _operation(self, operation: Any, entity: Entity, secure: Secure) -> Any:
        name = operation["operationId"]
        typed = {
            "operationId": TYPED[name][0] + entity.made,
            "tags": [entity.name],
            "summary": operation["summary"],
            "security": secure(operation),
            "parameters": list(self._parameters(name, operation, entity)),
            "responses": {
                status: self._response(name, status, each, entity) for status, each in operation["responses"].items()
            },
        }
        if "requestBody" in operation:
            typed["requestBody"] = {"required": True, "content": dict(self._body(name, operation, entity))}
        return typed

    def _parameters(self, name: str, operation: Any, entity: Entity) -> Iterator[Any]:
        for each in operation.get("parameters", ()):
            if each["name"] != "with_counts" or entity.name in self._counted:
                yield self._parameter(name, each, entity)

    def _parameter(self, name: str, parameter: Any, entity: Entity) -> Any:
        if parameter["name"] == "with_counts":
            one = f"({'|'.join(map(re.escape, self._counted[entity.name]))})"
            pattern = f"^{one}(,{one}){{0,{MAX_COUNTS - 1}}}$"
            return {**parameter, "schema": {"type": "string", "pattern": pattern}}
        if parameter["name"] == "filters":
            plain = {key: value for key, value in parameter.items() if key != "examples"}
            return {**plain, "description": FILTERS, "schema": ref(f"{entity.made}Filters")}
        if parameter["name"] == "by":
            return {**parameter, "schema": {"type": "string", "enum": entity.unique}, "example": entity.unique[0]}
        return self.shared.parameter(name, parameter)

    def _response(self, name: str, status: str, response: Any, entity: Entity) -> Any:
        if status >= "300" or "content" not in response:
            return self.shared.response(name, status, response)
        made = f"{entity.made}{'Page' if name in {'listDocuments', 'queryDocuments'} else 'Document'}"
        schema = ref(made)
        if TYPED[name][1] is not RuleAction.READ and not self._is_whole:
            # A caller who may not read what it wrote is given the id.
            schema = {"anyOf": [schema, object_of({"id": ID}, ("id",))]}
        return {**response, "content": {JSON: {"schema": schema}}}

    def _body(self, name: str, operation: Any, entity: Entity) -> Iterator[tuple[str, Any]]:
        made, is_change = entity.made, name == "mergeDocument"
        if name == "queryDocuments":
            form = self._own["ListForm"]
            properties = {**_without_words(form["properties"]), "where": ref(f"{made}Where")}
            counted = properties.pop("with_counts")
            if names := self._counted.get(entity.name):
                properties["with_counts"] = {**counted, "items": {"type": "string", "enum": names}}
            yield (
                JSON,
                {"schema": _untitled(form) | {"properties": properties, "not": {"required": ["cursor", "offset"]}}},
            )
            return
        data = ref(f"New{made}")
        whole = ref(f"{made}Change") if is_change else object_of({"data": data}, ("data",))
        yield JSON, {"schema": whole}
        members = {name: each for name, each in entity.members.items() if each.is_changed or not is_change}
        files = {name: _part(each.field) for name, each in members.items() if each.is_written and file_of(each.field)}
        if files:
            form = {"data": change_schema(entity) if is_change else data, **files}
            content = operation["requestBody"]["content"][FORM]
            least = {"minProperties": 1} if is_change else {}
            yield FORM, {**content, "schema": object_of(form, () if is_change else ("data",)) | least}


def _document(made: str) -> dict[str, Schema]:
    return {
        "id": ID,
        "data": ref(made),
        "created_at": TIME,
        "updated_at": TIME,
        "version": {"type": "integer", "minimum": 0},
    }


def _opens(name: str, entity: Entity) -> bool:
    """An upsert finds a document by a unique field only."""
    is_possible = name != "upsertDocument" or bool(entity.unique)
    return name in TYPED and TYPED[name][1] in entity.actions and is_possible


def _part(field: Field) -> Schema:
    one: Schema = {"type": "string", "format": "binary"}
    return {"type": "array", "items": one} if field.kind is Kind.ARRAY else one


def _without_words(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties without their descriptions, which stand in the service's own document."""
    return {
        name: {key: each for key, each in value.items() if key != "description"} for name, value in properties.items()
    }


def _filled(operator: Schema) -> Schema:
    """The schema of an operator that names one field at least."""
    return operator | ({"minItems": 1} if operator["type"] == "array" else {"minProperties": 1})


def _untitled(component: Schema) -> Schema:
    """A copy without the title, of which makers of clients make names."""
    return {key: each for key, each in component.items() if key != "title"}
