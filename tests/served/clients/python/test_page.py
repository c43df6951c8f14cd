"""The snippets of docs/python.md and docs/profiles.md run, in their order, at a running service."""

import re
from pathlib import Path
from typing import Any

import pytest

from auth_collections_client import Client, TokenVerifier, memory
from faults.samples import PNG
from tests.served.clients.python.conftest import Project

DOCS = Path(__file__).parents[4] / "docs"
PAGE, PROFILES = DOCS / "python.md", DOCS / "profiles.md"
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


def test_each_snippet_of_the_page_about_profiles_runs(project: Project) -> None:
    declare, change = SNIPPET.findall(PROFILES.read_text())
    with Client(project.url, project.secret, session=memory()) as client:
        names: dict[str, Any] = {"client": client}
        try:
            exec(compile(declare, "declare", "exec"), names)  # noqa: S102 - our own page
            client.auth.signup("profile@example.com", "correct horse")
            exec(compile(change, "change", "exec"), names)  # noqa: S102 - our own page
        finally:
            # The other tests share the project.
            client.admin.profile.put({})
    assert names["additional"] is True
    assert names["user"].data == {"plan": "pro"}
