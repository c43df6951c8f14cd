"""The test provider as a fixture: one server for a test worker, forgetting everything between tests."""

from collections.abc import Iterator

import pytest

from faults.provider import Provider, running_provider


@pytest.fixture(scope="session")
def provider_server() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(provider_server: Provider) -> Provider:
    provider_server.forget()
    return provider_server
