"""The parameters that stand in paths, by their names."""

from typing import Any

from service.schema.options import COLLECTION_NAME
from service.web.openapi.shapes import EXAMPLE_ID, ID_SCHEMA

PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "project_id": {
        "description": "The project's id.",
        "schema": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"},
        "example": "demo",
    },
    "name": {
        "description": "The collection's name.",
        "schema": {"type": "string", "pattern": f"^{COLLECTION_NAME.pattern}$"},
        "example": "books",
    },
    "provider": {
        "description": "The name of one of the project's providers.",
        "schema": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"},
        "example": "google",
    },
    "id": {"description": "The record's id.", "schema": ID_SCHEMA, "example": EXAMPLE_ID},
    "file_name": {
        "description": "The file's name, as it stands at the end of its URL.",
        "schema": {"type": "string", "pattern": r"^[a-z0-9-]{1,100}\.[a-z]{1,5}$"},
        "example": "demo-2b6a1f1c0d5e4c6f8a9b0c1d2e3f4a5b.png",
    },
}
