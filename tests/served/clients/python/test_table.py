"""The Python client runs the conformance table against a live service, in both colours."""

import asyncio
import json

import pytest

from tests.served.clients.conftest import MakeProject
from tests.served.clients.python.runner import CLASSES, run_all
from tests.served.clients.table import CALLS, judge


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_the_table_holds(colour: str, make_project: MakeProject) -> None:
    project = make_project(f"table-{colour}")
    judge(asyncio.run(run_all(colour, project.config(), CALLS.read_text())))


def test_the_classes_of_the_table_are_those_of_the_client() -> None:
    named = {entry["error"]["class"] for entry in json.loads(CALLS.read_text())["calls"] if "error" in entry}
    assert named <= CLASSES
