"""Requests that a project's own document allows are taken by the service; bounded, and the same in each run."""

from pathlib import Path
from typing import Any

import httpx2

from tests.served.conftest import Served
from tests.served.fuzz import fuzz

SCHEMAS: dict[str, dict[str, Any]] = {
    "fuzz-books": {
        "isbn": {"type": "string", "required": True, "unique": True, "max_length": 20},
        "stock": {"type": "integer", "default": 0, "min": 0, "max": 1_000},
        "in print": {"type": "boolean"},
        "status": {"type": "string", "enum": ["draft", "out"], "nullable": True},
        "seen_at": {"type": "datetime"},
        "size": {"type": "object", "properties": {"width": {"type": "number", "required": True}}},
        "tags": {"type": "array", "items": {"type": "string", "max_length": 20}, "max_length": 5},
    },
    "fuzz-pages": {"book_id": {"type": "reference", "collection": "fuzz-books"}, "number": {"type": "integer"}},
}


def test_schemathesis_finds_nothing_in_a_projects_document(served: Served, tmp_path: Path) -> None:
    document = tmp_path / "project.json"
    with httpx2.Client(base_url=served.base_url, headers={"x-api-key": served.api_key}) as client:
        for name, schema in SCHEMAS.items():
            client.post("/api/collections", json={"name": name, "schema": schema}).raise_for_status()
        document.write_bytes(client.get(f"/api/openapi.json?collections={','.join(SCHEMAS)}").content)
    environment = {"FUZZ_API_KEY": served.api_key, "FUZZ_HAS_TYPES": "yes"}
    bounded = ("--phases", "fuzzing", "--max-examples", "2", "--seed", "1", "--include-path-regex", "/fuzz-")
    status, report = fuzz(served.base_url, environment, tmp_path, "project.toml", *bounded, document=document)
    assert status == 0, report
