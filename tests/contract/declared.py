"""Contracts of declared schemas and rules, and the golden texts."""

import json
from pathlib import Path
from typing import Any

from service.contract.model import Contract, View
from service.contract.views import make_contract
from service.query.shapes import USERS, DocumentShape, Shape
from service.rules.document import read_rules
from service.schema.fields import parse, references
from service.schema.steps import finish

GOLDEN = Path(__file__).parent / "golden"
NAMES = ("books", "shop", "hostile")
Schemas = dict[str, dict[str, Any]]


def declared(schemas: Schemas, rules: dict[str, Any] | None = None, view: View = View.SERVER, **more: Any) -> Contract:
    """The contract of a view. `profile` and `additional` are of users."""
    fields = {name: parse(schema) for name, schema in schemas.items()}
    shapes: dict[str, Shape] = {"users": USERS}
    for name, each in fields.items():
        shapes[name] = DocumentShape(f"c_{name}", each, shapes.get)
    targets = {name: references(each) for name, each in fields.items()}
    profile, additional = parse(more.get("profile", {})), more.get("additional", True)
    found = finish(read_rules(rules or {}, shapes, targets))
    return make_contract(profile, fields, found, view, additional=additional)


def golden(name: str) -> Contract:
    found = json.loads((GOLDEN / f"{name}.json").read_text())
    profile = found["profile"]
    return declared(found["collections"], profile=profile["schema"], additional=profile["additional"])
