"""The TypeScript package: its own tests, its size, and the files that it would be published with."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.served.clients.table import CLIENTS
from tests.served.packages import NODE_MODULES, SOURCE, needs_packages, run

pytestmark = needs_packages
BESIDE = {"package.json", "README.md", "LICENSE", "bin/auth-collections-types.js"}


def test_the_rules_that_need_no_service_hold(node: str, package: Path) -> None:
    run(package, node, "--test", "--test-timeout=120000", "test/unit.test.js")


def test_each_entry_keeps_its_bound(node: str, package: Path) -> None:
    if not (package / "node_modules").exists():
        (package / "node_modules").symlink_to(NODE_MODULES)
    shutil.copytree(SOURCE / "scripts", package / "scripts", dirs_exist_ok=True)
    sizes = json.loads(run(package, node, "scripts/sizes.js", package / "dist"))
    assert set(sizes) == {"core", "realtime", "passkeys", "cookies", "verify", "admin"}


def test_the_package_has_its_modules_and_nothing_else(package: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    for name in ("README.md", "LICENSE"):
        shutil.copy(SOURCE / name, package)
    shutil.copytree(SOURCE / "bin", package / "bin", dirs_exist_ok=True)
    packed = json.loads(run(package, npm, "pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel", "silent"))
    modules = {path.stem for path in (SOURCE / "src").iterdir()}
    wanted = {f"dist/{name}{end}" for name in modules for end in (".js", ".d.ts")}
    assert {file["path"] for file in packed[0]["files"]} == wanted | BESIDE


def test_the_lock_file_names_no_registry_and_the_package_needs_nothing() -> None:
    assert "://" not in (SOURCE / "package-lock.json").read_text()
    found = json.loads((SOURCE / "package.json").read_text())
    assert "dependencies" not in found
    assert all(version[:1].isdigit() or version.startswith("npm:") for version in found["devDependencies"].values())


def test_the_version_stands_in_one_way() -> None:
    found = json.loads((SOURCE / "package.json").read_text())["version"]
    assert f'export const VERSION = "{found}";' in (SOURCE / "src/transport.ts").read_text()


@pytest.mark.parametrize("name", ["typescript", "python"])
def test_nothing_is_published_but_from_the_tag_of_its_version(name: str, tmp_path: Path) -> None:
    """A new repository with the files of the release has no tag."""
    shutil.copy(CLIENTS / "release", tmp_path)
    for file in ("package.json", "pyproject.toml"):
        if (CLIENTS / name / file).exists():
            (tmp_path / name).mkdir()
            shutil.copy(CLIENTS / name / file, tmp_path / name)
    run(tmp_path, "git", "init", "--quiet")
    refused = subprocess.run(  # noqa: S603 - the script under test
        [tmp_path / "release", name, "--publish"], capture_output=True, text=True, check=False
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert re.fullmatch(
        r"This commit has no tag client-(ts|py)-v\d+\.\d+\.\d+\.\n", refused.stderr.splitlines(True)[-1]
    )
