"""Values of unknown origin as typed ones; a value of another kind is empty."""

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def object_of(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def list_of(value: Any) -> list[Any]:
    return value if is_list(value) else []
