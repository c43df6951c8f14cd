"""The TypeScript client in the tests: where its source and its packages are, and a page that can import it."""

import json
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "clients/typescript"
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


def install(package: Path, folder: Path) -> None:
    """Makes the built client a package of the programs of a folder."""
    library = folder / "node_modules/@auth-collections"
    library.mkdir(parents=True)
    (library / "client").symlink_to(package)
