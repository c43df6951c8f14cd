"""The TypeScript client runs the conformance table against a live service, from Node and from a page in Chromium."""

from pathlib import Path

from tests.served.clients.conftest import MakeProject, needs_packages
from tests.served.clients.table import run_table

pytestmark = needs_packages


def test_the_table_holds_in_node(node: str, package: Path, make_project: MakeProject) -> None:
    run_table([node, "--experimental-websocket", package / "test/conformance.js"], make_project("table-node"))
