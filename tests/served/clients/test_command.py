"""The package's own command writes the types of a project, and says if a file differs from them."""

import json
import os
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.served.clients.conftest import MakeProject
from tests.served.clients.table import Project
from tests.served.packages import SOURCE, needs_packages

pytestmark = needs_packages


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    return make_project("table-types")


def types(node: str, folder: Path, project: Project, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    known = {"AUTH_COLLECTIONS_URL": project.url, "AUTH_COLLECTIONS_KEY": project.secret_key}
    return subprocess.run(  # noqa: S603 - the command under test
        [node, SOURCE / "bin/auth-collections-types.js", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **known, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_prints_what_the_service_gives(node: str, tmp_path: Path, project: Project) -> None:
    answer = httpx2.get(f"{project.url}/api/types?language=python", headers={"x-api-key": project.secret_key})
    assert types(node, tmp_path, project, "--language", "python").stdout == answer.text


def test_it_writes_a_file_and_finds_what_differs(node: str, tmp_path: Path, project: Project) -> None:
    missing = types(node, tmp_path, project, "--out", "schema.ts", "--check", "--json")
    assert (missing.returncode, json.loads(missing.stdout)["differs"]) == (1, ["authors", "books", "notes", "secrets"])
    assert types(node, tmp_path, project, "--out", "schema.ts").returncode == 0
    assert types(node, tmp_path, project, "--out", "schema.ts", "--check").returncode == 0
    text = (tmp_path / "schema.ts").read_text()
    (tmp_path / "schema.ts").write_text(text.replace("stock: number", "stock: string"))
    different = types(node, tmp_path, project, "--out", "schema.ts", "--check")
    assert (different.returncode, different.stdout) == (1, "schema.ts differs: books\n")
    assert [path.name for path in tmp_path.iterdir()] == ["schema.ts"]


def test_a_failure_is_status_2_and_names_no_key(node: str, tmp_path: Path, project: Project) -> None:
    for more in ({"AUTH_COLLECTIONS_KEY": "ac_wrong"}, {"AUTH_COLLECTIONS_URL": "http://127.0.0.1:9"}):
        failed = types(node, tmp_path, project, "--out", "schema.ts", **more)
        assert failed.returncode == 2
        assert "ac_wrong" not in failed.stderr
    assert types(node, tmp_path, project, "--check").returncode == 2
    assert list(tmp_path.iterdir()) == []
