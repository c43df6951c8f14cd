"""The wheel carries the console."""

import os
import sys
import zipfile
from pathlib import Path
from subprocess import run

import pytest
from flit_core import buildapi

from service.web.console.assets import read_console

ROOT = Path(__file__).parents[2]
READ = """
import hashlib, service
from service.web.console.assets import read_console
found = read_console()
print(service.__file__, len(found.assets), hashlib.sha256(found.page).hexdigest(), found.version)
"""


def test_an_installed_wheel_has_the_page_and_all_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel of Python alone is installed by unpacking it."""
    monkeypatch.chdir(ROOT)
    wheel = tmp_path / buildapi.build_wheel(str(tmp_path))
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = run([sys.executable, "-c", READ], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    place, count, _, version = done.stdout.split()
    assert place.startswith(str(installed))
    assert (int(count), version) == (len(read_console().assets), read_console().version)
