"""Projects of the conformance table."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.served.clients.table import Project, project_of
from tests.served.conftest import Served

MakeProject = Callable[..., Project]


@pytest.fixture(scope="module")
def make_project(served: Served, served_settings: dict[str, str]) -> Iterator[MakeProject]:
    with ExitStack() as stack:
        yield lambda name, **more: stack.enter_context(project_of(served.base_url, served_settings, name, **more))
