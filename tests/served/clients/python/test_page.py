"""The snippets of docs/python.md run, in their order, at a running service."""

import re
from pathlib import Path
from typing import Any

import pytest

from auth_collections_client import Client, TokenVerifier
from faults.samples import PNG
from tests.served.clients.python.conftest import Project

PAGE = Path(__file__).parents[4] / "docs/python.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_each_snippet_of_the_page_runs(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cover.png").write_bytes(PNG)
    names: dict[str, Any] = {
        "URL": project.url,
        "API_KEY": project.secret,
        "PUBLISHABLE_KEY": project.publishable,
        "PROJECT": project.project_id,
    }
    try:
        for number, snippet in enumerate(SNIPPET.findall(PAGE.read_text())):
            exec(compile(snippet, f"snippet {number}", "exec"), names)  # noqa: S102 - our own page
    finally:
        for client in (each for each in names.values() if isinstance(each, Client | TokenVerifier)):
            client.close()
    assert names["user"].data == {"name": "Ann"}
    assert len(Path("books.ndjson").read_bytes().splitlines()) == 1000
