"""The services of docs/guides/verify-token.md, each in its own runtime, beside tokens that are good and tokens that are not."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from faults.commands import free_port
from faults.waiting import wait_until
from service.cli.running import run_on
from service.settings import Settings
from tests.served.conftest import PROJECT_ID, Served
from tests.served.generators.test_generators import NODE_MODULES, PYTHON
from tests.served.walkthrough import FILE, ROOT

NODE, GO = shutil.which("node"), shutil.which("go")
# `go run` compiles first.
START_SECONDS = 120
LANGUAGES = {
    "FastAPI": ((str(PYTHON), "-m", "uvicorn", "app:app", "--port"), PYTHON.exists()),
    "Express": ((NODE or "", "server.mjs"), bool(NODE) and (NODE_MODULES / "express").exists()),
    "Go": ((GO or "", "run", "main.go"), bool(GO)),
}


@pytest.fixture(scope="module", params=[
    pytest.param(name, marks=pytest.mark.skipif(not installed, reason="its runtime is not installed"))
    for name, (_, installed) in LANGUAGES.items()
])  # fmt: skip
def service(request: pytest.FixtureRequest, served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of one of the page's services, which answers."""
    folder = tmp_path_factory.mktemp("verify")
    (folder / "verify").mkdir()
    for found in FILE.finditer((ROOT / "docs/guides/verify-token.md").read_text()):
        (folder / found[1]).write_text(found[2])
    (folder / "verify/node_modules").symlink_to(NODE_MODULES)
    port = free_port()
    command, _ = LANGUAGES[request.param]
    command = (*command, str(port)) if request.param == "FastAPI" else command
    settings = {
        "URL": served.base_url,
        "ISSUER": served.base_url,
        "PROJECT": PROJECT_ID,
        "PORT": str(port),
        "HOME": str(folder),
    }
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(  # noqa: S603 - a command of the page
            command,
            cwd=folder / "verify",
            env={"PATH": os.environ["PATH"], **settings},
            stdout=output,
            stderr=output,
            # `go run` has a child; both end together.
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}/me"
            wait_until(lambda: process.poll() is not None or is_answering(url), START_SECONDS)
            assert process.poll() is None, (folder / "output").read_text()
            yield url
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def is_answering(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return bool(httpx2.get(url).status_code)
    return False


@pytest.fixture(scope="module")
def signing_key(served: Served, served_settings: dict[str, str]) -> Any:
    """The private key with which the project's tokens are signed."""
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    return run_on(settings, lambda services: services.base.projects.by_id(PROJECT_ID)).signing_key.private_key


def ask(service: str, token: str) -> httpx2.Response:
    return httpx2.get(service, headers={"authorization": f"Bearer {token}"})


def test_a_token_that_the_service_issued_is_good(service: str, served: Served) -> None:
    own = httpx2.get(f"{served.base_url}/auth-collections/user", headers={"authorization": f"Bearer {served.token}"})
    answer = ask(service, served.token)
    assert (answer.status_code, answer.json()) == (200, {"id": own.json()["id"]})


CHANGES: dict[str, dict[str, Any]] = {
    "of another project": {"aud": "another"},
    "of another installation": {"iss": "https://other.example.com"},
    "that has expired": {"exp": int(time.time()) - 1},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_signed_token_is_refused(service: str, served: Served, signing_key: Any, change: str) -> None:
    head, claims = (
        jwt.get_unverified_header(served.token),
        jwt.decode(served.token, options={"verify_signature": False}),
    )
    assert ask(service, jwt.encode(claims, signing_key, "ES256", head)).status_code == 200
    assert ask(service, jwt.encode(claims | CHANGES[change], signing_key, "ES256", head)).status_code == 401


def test_forged_tokens_are_refused(service: str, served: Served) -> None:
    head, claims = (
        jwt.get_unverified_header(served.token),
        jwt.decode(served.token, options={"verify_signature": False}),
    )
    stranger, public = ec.generate_private_key(ec.SECP256R1()), json.dumps(claims)
    unsigned, _, signature = served.token.rpartition(".")
    forged = {
        "another key": jwt.encode(claims, stranger, "ES256", head),
        "an unknown key": jwt.encode(claims, stranger, "ES256", {"kid": "served.invented"}),
        "no kid": jwt.encode(claims, stranger, "ES256"),
        "HS256": jwt.encode(claims, public, "HS256", head | {"alg": "HS256"}),
        "none": jwt.encode(claims, "", "none", head | {"alg": "none"}),
        "no signature": f"{unsigned}.",
        "a short signature": f"{unsigned}.{signature[:-4]}",
        "a zero signature": f"{unsigned}.{'A' * 86}",
        "other claims": ".".join(
            [unsigned.split(".")[0], jwt.encode(claims | {"sub": "x"}, public).split(".")[1], signature]
        ),
        "no token": "x",
        "two dots": "..",
    }
    good = [name for name, token in forged.items() if ask(service, token).status_code != 401]
    assert good == []


def test_a_request_without_a_token_is_refused(service: str) -> None:
    assert httpx2.get(service).status_code in {401, 403}
