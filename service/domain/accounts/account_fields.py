"""The fields of an account that a project's servers set: whether values fit them, in a request or in a row of a seed."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from service.bounds import MAX_CLAIMS_BYTES
from service.domain.access.roles import find_role_faults
from service.errors import Location, Violation
from service.schema.values import check_data


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


# Name → whether a value is of the field's type, and what that is called.
TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "disabled": (_is_flag, "true or false"),
    "email_verified": (_is_flag, "true or false"),
    "claims": (_is_object, "an object"),
    "roles": (_is_list_of_texts, "a list of texts"),
}


def find_faults(fields: Mapping[str, Any], loc: Location) -> list[Violation]:
    """The violations in the fields of TYPES among `fields`, which are at `loc`."""
    mistyped = [
        Violation((*loc, name), f"Must be {expected}", "type_error")
        for name, (fits, expected) in TYPES.items()
        if name in fields and not fits(fields[name])
    ]
    if mistyped:
        return mistyped
    claims, roles = fields.get("claims", {}), fields.get("roles", ())
    return [*_find_claim_faults(claims, (*loc, "claims")), *find_role_faults(roles, (*loc, "roles"))]


def _find_claim_faults(claims: Mapping[str, Any], loc: Location) -> list[Violation]:
    found = check_data(claims, loc)
    if not found and len(_encode(claims)) > MAX_CLAIMS_BYTES:
        msg = f"Claims may have at most {MAX_CLAIMS_BYTES} bytes as JSON, for every request carries them"
        found.append(Violation(loc, msg, "too_long"))
    return found


def _encode(claims: Mapping[str, Any]) -> bytes:
    """The form of claims in a token."""
    return json.dumps(claims, ensure_ascii=False, separators=(",", ":")).encode()
