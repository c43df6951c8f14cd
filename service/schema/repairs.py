"""Definitions → the aggregation expression that fills defaults into stored documents, inside the database.

It does to a stored `data` what `documents.complete` does to one that arrives, except that it changes no value.
"""

from typing import Any

from service.schema.documents import complete
from service.schema.fields import ABSENT, Field, Fields

Expression = Any


def fill(fields: Fields) -> Expression:
    """The expression of `data` with the defaults of absent fields added at every depth."""
    return _object("$data", fields)


def has_defaults(fields: Fields) -> bool:
    return any(_fills(field) or field.default is not ABSENT for field in fields.values())


def _fills(field: Field) -> bool:
    """True if a value of `field` may have parts that defaults fill."""
    if field.items is not None:
        return _fills(field.items)
    return field.properties is not None and has_defaults(field.properties)


def _object(value: Expression, fields: Fields) -> Expression:
    """An absent value stays absent: as a field of an object, an expression that finds nothing makes none."""
    defaults = {name: {"$literal": default} for name, default in complete({}, fields).items()}
    inner = {name: _inside(_get(name, value), field) for name, field in fields.items() if _fills(field)}
    # The value stands first for the order of its fields, and once more because what it has is no default.
    filled = {"$mergeObjects": [value, defaults, value, inner]}
    return {"$cond": [{"$eq": [{"$type": value}, "object"]}, filled, value]}


def _inside(value: Expression, field: Field) -> Expression:
    if field.properties is not None:
        return _object(value, field.properties)
    if field.items is None or not _fills(field.items):
        return value
    each = {"$map": {"input": value, "in": _inside("$$this", field.items)}}
    return {"$cond": [{"$isArray": value}, each, value]}


def _get(name: str, value: Expression) -> Expression:
    return {"$getField": {"field": {"$literal": name}, "input": value}}
