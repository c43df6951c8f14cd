"""Clients that generators make of the OpenAPI document: nothing is left out, types hold, and a real service answers them."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.served.conftest import Served

HERE = Path(__file__).parent
# `scripts/generators` installs them, apart from our own dependencies.
GENERATORS, CLIENT = HERE.parents[2] / ".generators", HERE.parents[2] / "clients/typescript"
PYTHON, NODE_MODULES = GENERATORS / "python/bin/python", GENERATORS / "node_modules"
# The compilers of the generators' users: of JavaScript, and the native one. Each compiles one of the two documents.
TSC, NATIVE_TSC = NODE_MODULES / "typescript/bin/tsc", CLIENT / "node_modules/typescript-7/bin/tsc"


def run(folder: Path, *command: str | Path) -> str:
    """The output of the command. Fails if the command does, or if it prints a warning."""
    done = subprocess.run(  # noqa: S603 - commands of these tests
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert not re.search("warning|skipping|unable", done.stdout, re.IGNORECASE), done.stdout
    return done.stdout


@pytest.fixture
def folder(served: Served, tmp_path: Path) -> Path:
    """A folder with the document of the running service, and what uses the clients."""
    (tmp_path / "openapi.json").write_bytes(httpx2.get(f"{served.base_url}/openapi.json").content)
    for name in ("calls.py", "calls.ts", "tsconfig.json", "package.json"):
        shutil.copy(HERE / name, tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of mypy: most modules of the two clients are the same, and are checked once."""
    return tmp_path_factory.mktemp("checked")


@pytest.mark.skipif(not PYTHON.exists(), reason="scripts/setup dev installs the generators")
def test_openapi_python_client_makes_a_client_of_every_operation(served: Served, folder: Path, checked: Path) -> None:
    make_python(folder)
    run(folder, PYTHON, "-m", "mypy", "--strict", "--cache-dir", checked, "made_client", "calls.py")
    run(folder, PYTHON, "calls.py", served.base_url, served.api_key)


@pytest.mark.skipif(not NODE_MODULES.exists(), reason="scripts/setup dev installs the generators where npm is")
def test_openapi_typescript_makes_types_that_compile(served: Served, folder: Path) -> None:
    make_typescript(folder, TSC, "calls.js", served)


SCHEMAS: dict[str, dict[str, Any]] = {
    "gen-makers": {"name": {"type": "string", "required": True}},
    "gen-books": {
        "isbn": {"type": "string", "required": True, "unique": True},
        "stock": {"type": "integer", "default": 0},
        "price": {"type": "number", "nullable": True},
        "in print": {"type": "boolean"},
        "status": {"type": "string", "enum": ["draft", "out"]},
        "ratio": {"type": "number", "enum": [0.5, 1]},
        "seen_at": {"type": "datetime"},
        "size": {"type": "object", "properties": {"width": {"type": "number", "required": True}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "maker_id": {"type": "reference", "collection": "gen-makers"},
    },
}


@pytest.fixture
def project_folder(served: Served, tmp_path: Path) -> Path:
    """A folder with the document of the project's own collections, and what uses the clients."""
    with httpx2.Client(base_url=served.base_url, headers={"x-api-key": served.api_key}) as client:
        for name, schema in SCHEMAS.items():
            client.delete(f"/api/collections/{name}")
            made = client.post("/api/collections", json={"name": name, "schema": schema})
            assert made.status_code == 201, made.text
        answer = client.get(f"/api/openapi.json?collections={','.join(SCHEMAS)}")
    (tmp_path / "openapi.json").write_bytes(answer.content)
    for name in ("project_calls.py", "project_calls.ts", "package.json"):
        shutil.copy(HERE / name, tmp_path)
    options = (HERE / "tsconfig.json").read_text().replace("calls.ts", "project_calls.ts")
    (tmp_path / "tsconfig.json").write_text(options)
    return tmp_path


@pytest.mark.skipif(not PYTHON.exists(), reason="scripts/setup dev installs the generators")
def test_openapi_python_client_makes_typed_calls_of_a_projects_document(
    served: Served, project_folder: Path, checked: Path
) -> None:
    make_python(project_folder)
    run(project_folder, PYTHON, "-m", "mypy", "--strict", "--cache-dir", checked, "made_client", "project_calls.py")
    run(project_folder, PYTHON, "project_calls.py", served.base_url, served.api_key)


@pytest.mark.skipif(not NODE_MODULES.exists(), reason="scripts/setup dev installs the generators where npm is")
def test_openapi_typescript_makes_typed_calls_of_a_projects_document(served: Served, project_folder: Path) -> None:
    make_typescript(project_folder, NATIVE_TSC, "project_calls.js", served)


def make_python(folder: Path) -> None:
    """Makes the client, of every operation of the document."""
    (folder / "config.yaml").write_text("post_hooks: []\n")
    options = ("--meta", "none", "--config", "config.yaml", "--fail-on-warning")
    generate = ("-m", "openapi_python_client", "generate", "--path", "openapi.json", *options)
    run(folder, PYTHON, *generate, "--output-path", "made_client")
    paths = json.loads((folder / "openapi.json").read_text())["paths"]
    operations = [operation for item in paths.values() for name, operation in item.items() if name != "parameters"]
    modules = [path for path in folder.glob("made_client/api/*/*.py") if path.name != "__init__.py"]
    assert len(modules) == len(operations)


def make_typescript(folder: Path, compiler: Path, program: str, served: Served) -> None:
    """Makes the types, and runs the compiled program that uses them."""
    node = shutil.which("node")
    assert node is not None
    (folder / "node_modules").symlink_to(NODE_MODULES)
    run(folder, node, "node_modules/openapi-typescript/bin/cli.js", "openapi.json", "--output", "api.d.ts")
    run(folder, node, compiler, "--project", "tsconfig.json")
    run(folder, node, program, served.base_url, served.api_key)


def test_the_lock_files_name_no_index() -> None:
    for name in ("package-lock.json", "requirements.txt"):
        assert "://" not in re.sub(r'"url": "https://[^"]*"', "", (HERE / name).read_text()), name
