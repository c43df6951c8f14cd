"""The configurations of docs/guides/proxy.md, in the programs themselves where these are installed."""

import json
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from websockets.sync.client import connect

from faults.commands import Shell, await_ready, free_port, serving
from faults.samples import PNG
from tests.served.conftest import Served
from tests.served.walkthrough import FILE, ROOT

# Clients of other addresses than the proxies', on the same machine.
CLIENTS = {"nginx": "127.0.0.2", "caddy": "127.0.0.3"}
START_SECONDS = 20


@dataclass(frozen=True)
class Proxy:
    url: str
    client: httpx2.Client
    # The address of that client.
    address: str
    tls: ssl.SSLContext | None


@pytest.fixture(scope="module")
def behind(served: Served, served_settings: dict[str, str]) -> Iterator[str]:
    """A service that trusts a proxy of this machine, on the database of `served`."""
    port = free_port()
    shared = {**os.environ, **served_settings, "BASE_URL": served.base_url, "TRUSTED_PROXIES": "127.0.0.1"}
    with serving(Shell(shared), "--port", str(port)):
        await_ready(f"http://127.0.0.1:{port}")
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, behind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    program = shutil.which(request.param, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip(f"no {request.param} is on the PATH (Debian: apt install {request.param})")
    folder = tmp_path_factory.mktemp(request.param)
    port = free_port()
    make = {"nginx": start_nginx, "caddy": start_caddy}[request.param]
    command, scheme = make(program, folder, behind, port)
    tls = ssl._create_unverified_context() if scheme == "https" else None  # noqa: S323, SLF001 - its own certificate
    transport = httpx2.HTTPTransport(local_address=CLIENTS[request.param], verify=tls or True)
    with subprocess.Popen(command, cwd=folder, env={**os.environ, "HOME": str(folder)}) as process:  # noqa: S603
        with httpx2.Client(base_url=f"{scheme}://127.0.0.1:{port}", transport=transport) as client:
            await_answer(client)
            yield Proxy(f"{scheme}://127.0.0.1:{port}", client, CLIENTS[request.param], tls)
        process.kill()


def configuration(name: str) -> str:
    saved: dict[str, str] = dict(FILE.findall((ROOT / "docs/guides/proxy.md").read_text()))
    return saved[f"proxy/{name}"]


def start_nginx(program: str, folder: Path, behind: str, port: int) -> tuple[list[str], str]:
    certificate, key = folder / "a.pem", folder / "a.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)  # noqa: S603
    text = (
        configuration("nginx.conf").replace("127.0.0.1:8000", behind).replace("listen 443", f"listen 127.0.0.1:{port}")
    )
    text = text.replace("/etc/ssl/api.example.com.pem", str(certificate))
    text = text.replace("/etc/ssl/api.example.com.key", str(key))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    text = text.replace("http {", f"http {{\naccess_log off;\n{paths}", 1)
    (folder / "nginx.conf").write_text(f"daemon off;\nmaster_process off;\npid {folder}/pid;\n{text}")
    return [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")], "https"


def start_caddy(program: str, folder: Path, behind: str, port: int) -> tuple[list[str], str]:
    text = configuration("Caddyfile").replace("127.0.0.1:8000", behind)
    text = text.replace("api.example.com {", f"http://127.0.0.1:{port} {{")
    (folder / "Caddyfile").write_text(f"{{\nadmin off\n}}\n{text}")
    return [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"], "http"


def await_answer(client: httpx2.Client) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if client.get("/health/ready").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("the proxy does not answer")


def test_the_service_sees_the_address_of_the_client_and_none_that_it_invents(proxy: Proxy, served: Served) -> None:
    key = {"x-api-key": served.api_key}
    invented = {"x-forwarded-for": "9.9.9.9", "forwarded": "for=9.9.9.9", "x-real-ip": "9.9.9.9"}
    body = {"email": "ann@example.com", "password": "correct horse"}
    assert proxy.client.post("/auth-collections/login", json=body, headers=key | invented).status_code == 200
    newest = {"type": "signed_in", "limit": "1"}
    deadline = time.monotonic() + START_SECONDS
    seen: list[str] = []
    # Sign-ins are recorded a moment after their answer.
    while seen != [proxy.address] and time.monotonic() < deadline:
        time.sleep(0.1)
        answer = proxy.client.get("/auth-collections/events", params=newest, headers=key)
        seen = [event["ip"] for event in answer.json()["events"]]
    assert seen == [proxy.address]


def test_a_socket_and_a_stream_pass(proxy: Proxy, served: Served) -> None:
    key = {"x-api-key": served.api_key}
    made = proxy.client.post("/api/collections", json={"name": "passing", "schema": {}, "realtime": True}, headers=key)
    assert made.status_code in {201, 409}, made.text
    url = proxy.url.replace("http", "ws", 1)
    with connect(f"{url}/realtime", ssl=proxy.tls) as socket:
        socket.send(json.dumps({"type": "hello", "key": served.api_key}))
        assert json.loads(socket.recv(timeout=START_SECONDS))["type"] == "ready"
    streaming = key | {"accept": "text/event-stream"}
    with proxy.client.stream("GET", "/api/collections/passing/documents", headers=streaming) as answer:
        assert answer.status_code == 200
        first = next(line for line in answer.iter_lines() if line.startswith("event:"))
        assert first == "event: snapshot"


def test_a_large_file_passes(proxy: Proxy, served: Served) -> None:
    large = PNG + bytes(8_000_000)
    signed_in = {"authorization": f"Bearer {served.token}"}
    sent = proxy.client.put("/auth-collections/user", files={"large": ("large.png", large)}, headers=signed_in)
    assert sent.status_code == 200, sent.text
    url = httpx2.URL(sent.json()["data"]["large"])
    assert proxy.client.get(url.path).content == large
