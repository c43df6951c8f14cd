"""The form in which entries of the audit log are shown."""

from collections.abc import Mapping
from typing import Any

import orjson


def show_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """A stored entry as the API and the commands show it; `at` is a datetime."""
    shown = {name: value for name, value in row.items() if name not in {"_id", "expires_at"}}
    return {"id": row["_id"], **shown, "changes": orjson.loads(row["changes"])}
