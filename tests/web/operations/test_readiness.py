"""THREATS row N28: a service is ready if it can serve, and the log has the cause if it cannot."""

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from faults.commands import free_port
from faults.processes import running_service
from service.app import create_app
from service.embedded.folder import mongod_binary
from service.services import Services
from service.settings import Settings
from service.storage.databases import Databases, ServerState
from tests.conftest import BASE_URL, MakeApi


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[str]:
    """The URI of a mongod that is no member of a replica set."""
    port = free_port()
    folder = tmp_path / "standalone"
    folder.mkdir()
    options = ["--dbpath", str(folder), "--port", str(port), "--bind_ip", "127.0.0.1", "--nounixsocket", "--quiet"]
    with subprocess.Popen([str(mongod_binary()), *options], stdout=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            yield f"mongodb://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_n28_a_standalone_is_never_ready(standalone: str, tmp_path: Path) -> None:
    with running_service(standalone, tmp_path) as service:
        answer = httpx2.get(f"{service.url}/health/ready", timeout=30)
        assert answer.status_code == 503
        assert answer.json()["code"] == "unavailable"
        assert "standalone" not in answer.text
        while "standalone" not in service.log.read_text():
            httpx2.get(f"{service.url}/health/ready", timeout=30)


async def test_n28_a_member_that_takes_no_writes_is_not_ready(
    http: httpx2.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secondary answers reads, the canary's among them."""
    assert (await http.get("/health/ready")).status_code == 200

    async def hello(_: Databases) -> ServerState:
        return ServerState("replica set", is_writable=False)

    monkeypatch.setattr(Databases, "hello", hello)
    with capture_logs() as logs:
        answer = await http.get("/health/ready")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert [line["cause"] for line in logs if line["event"] == "unavailable"] == [
        "this member of MongoDB takes no writes"
    ]


async def test_n28_nobody_is_ready_with_another_secret_key(make_api: MakeApi, settings: Settings) -> None:
    await make_api()
    other = Settings(
        mongodb_uri=settings.mongodb_uri,
        database_prefix=settings.database_prefix,
        secret_key=SecretStr(base64.b64encode(b"o" * 32).decode()),
    )
    app = create_app(other)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=BASE_URL) as client,
    ):
        assert (await client.get("/health/live")).status_code == 200
        assert (await client.get("/health/ready")).status_code == 503
