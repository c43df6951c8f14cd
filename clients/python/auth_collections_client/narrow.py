"""Values of unknown origin as typed ones; a value of another kind is empty."""

from typing import Any, cast


def object_of(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    found: list[Any] = value if isinstance(value, list) else []
    return found
