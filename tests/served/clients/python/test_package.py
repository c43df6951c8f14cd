"""The package: its generated half, its types, and the files that are published."""

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from flit_core import wheel

from auth_collections_client import __version__

ROOT = Path(__file__).parents[4]
HOME = ROOT / "clients/python"
PACKAGE = HOME / "auth_collections_client"


def test_the_synchronous_half_is_made_of_the_asynchronous_one() -> None:
    check = subprocess.run([sys.executable, HOME / "unasync", "--check"], capture_output=True, check=False)  # noqa: S603
    assert (check.returncode, check.stderr) == (0, b"")
    both = [{path.name for path in (PACKAGE / colour).glob("*.py")} for colour in ("_async", "_sync")]
    assert both[0] == both[1]


def test_the_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    made = wheel.make_wheel_in(HOME / "pyproject.toml", tmp_path)
    with zipfile.ZipFile(made.file) as archive:
        names = set(archive.namelist())
    modules = {str(path.relative_to(HOME)) for path in PACKAGE.rglob("*.py")}
    info = f"auth_collections_client-{__version__}.dist-info"
    about = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")}
    assert names == modules | {"auth_collections_client/py.typed"} | about


def test_the_version_stands_once() -> None:
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    assert (project["version"], project["requires-python"]) == (__version__, ">=3.11")
    assert (HOME / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_client_imports_nothing_of_the_service() -> None:
    code = "import json, sys, auth_collections_client as _; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=HOME, capture_output=True, text=True, check=True)  # noqa: S603
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "auth_collections_client" in loaded
    assert loaded.isdisjoint({"service", "pydantic", "websockets", "joserfc", "starlette"})
