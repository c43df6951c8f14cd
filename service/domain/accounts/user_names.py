"""User names: `data.username`, by which a user signs in as by the address. The unique index of their folds decides."""

from collections.abc import Mapping
from typing import Any

from service.domain.projects.settings import ProjectSettings
from service.errors import Location, Violation
from service.schema.user_names import FIELD, RULE, is_name


def list_name_faults(
    settings: ProjectSettings, data: Mapping[str, Any], loc: Location = ("body",), *, is_new: bool
) -> list[Violation]:
    """The fault of a name in `data`, and of a missing one of a new user where the project requires it.

    An update clears the name by null where the project does not require one.
    """
    if settings.usernames == "off":
        return []
    is_required, value = settings.usernames == "required", data.get(FIELD)
    if FIELD not in data and is_new and is_required:
        return [Violation((*loc, FIELD), "Field required", "missing")]
    may_stay = FIELD not in data or (value is None and not is_new and not is_required)
    return [] if may_stay or is_name(value) else [Violation((*loc, FIELD), f"A name has {RULE}", "username")]
