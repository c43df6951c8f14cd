"""The TypeScript client, built once for a worker, and projects of the conformance table."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.served.clients.table import CLIENTS, Project, project_of
from tests.served.conftest import Served

SOURCE = CLIENTS / "typescript"
# `scripts/generators` installs them where npm is.
NODE_MODULES = SOURCE / "node_modules"
needs_packages = pytest.mark.skipif(
    not NODE_MODULES.exists(), reason="scripts/setup dev installs the packages of the client where npm is"
)
ENTRIES = ("realtime", "passkeys", "cookies", "verify", "admin")
IMPORTS = {"@auth-collections/client": "./dist/index.js"} | {
    f"@auth-collections/client/{name}": f"./dist/{name}.js" for name in ENTRIES
}
PAGE = f"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:">
<script type="importmap">{json.dumps({"imports": IMPORTS})}</script>"""


def run(folder: Path, *command: str | Path, **environment: str) -> str:
    """The output of the command. Fails if the command does."""
    done = subprocess.run(  # noqa: S603 - commands of these tests
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=environment or None,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def node() -> str:
    found = shutil.which("node")
    assert found is not None
    return found


@pytest.fixture(scope="session")
def package(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built package, its tests, and a page that can import it."""
    folder = tmp_path_factory.mktemp("client")
    shutil.copy(SOURCE / "package.json", folder)
    shutil.copytree(SOURCE / "test", folder / "test")
    (folder / "index.html").write_text(PAGE)
    build = json.loads((SOURCE / "package.json").read_text())["scripts"]["build"].split()
    assert build[0] == "node"
    run(SOURCE, node, *build[1:], "--outDir", folder / "dist")
    return folder


MakeProject = Callable[..., Project]


@pytest.fixture(scope="module")
def make_project(served: Served, served_settings: dict[str, str]) -> Iterator[MakeProject]:
    with ExitStack() as stack:
        yield lambda name, **more: stack.enter_context(project_of(served.base_url, served_settings, name, **more))
