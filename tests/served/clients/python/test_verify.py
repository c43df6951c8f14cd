"""Tokens that a back end verifies, in both colours, and the example of FastAPI."""

import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import joserfc
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from auth_collections_client import AsyncTokenVerifier, Client, TokenError, TokenVerifier, memory
from auth_collections_client.asgi import bearer
from auth_collections_client.tokens import KeySet
from faults.commands import NO_TLS, free_port
from faults.waiting import wait_until
from service.cli.running import run_on
from service.settings import Settings
from tests.served.clients.python.colours import Awaited
from tests.served.clients.python.conftest import Project
from tests.served.clients.python.wire import Wire
from tests.served.generators.test_generators import PYTHON

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "docs/examples/fastapi_app.py"
START_SECONDS = 120.0
MakeVerifier = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
async def verifier(request: pytest.FixtureRequest, project: Project) -> AsyncIterator[MakeVerifier]:
    async with AsyncExitStack() as opened:

        def make(wire: Wire | None = None, **settings: Any) -> Any:
            named = {"url": project.url, "project": project.project_id} | settings
            if request.param == "sync":
                http = opened.enter_context(httpx2.Client(transport=wire, verify=NO_TLS))
                return Awaited(TokenVerifier(http=http, **named))
            async_http = httpx2.AsyncClient(transport=wire, verify=NO_TLS)
            opened.push_async_callback(async_http.aclose)
            return AsyncTokenVerifier(http=async_http, **named)

        yield make


@pytest.fixture
def user(project: Project, name: str) -> Iterator[Client]:
    with Client(project.url, project.publishable, session=memory()) as client:
        client.auth.signup(f"{name}@example.com", "correct horse")
        yield client


@pytest.fixture
def token(user: Client) -> str:
    session = user.auth.session()
    assert session is not None
    return session["access_token"]


@pytest.fixture(scope="module")
def signing_key(project: Project, served_settings: dict[str, str]) -> Any:
    """The private key with which the project's tokens are signed."""
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    return run_on(settings, lambda services: services.base.projects.by_id(project.project_id)).signing_key.private_key


def claims_of(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return jwt.get_unverified_header(token), jwt.decode(token, options={"verify_signature": False})


async def test_a_token_of_the_service_is_good(verifier: MakeVerifier, token: str) -> None:
    wire = Wire()
    checking = verifier(wire)
    assert [(await checking.verify(token))["sub"] for _ in range(3)] == [claims_of(token)[1]["sub"]] * 3
    assert [each.url.path for each in wire.requests] == ["/auth-collections/jwks/python"]
    assert "x-api-key" not in wire.requests[0].headers


async def test_k19_forged_and_foreign_tokens_are_refused(verifier: MakeVerifier, token: str, signing_key: Any) -> None:
    """K19: each by its own code."""
    head, claims = claims_of(token)
    public = json.dumps(claims)
    unsigned, _, signature = token.rpartition(".")
    stranger = ec.generate_private_key(ec.SECP256R1())

    def signed(**changes: Any) -> str:
        return jwt.encode(claims | changes, signing_key, "ES256", head)

    forged = {
        "malformed": ["x", "..", "a.b.c", f"{token}.x", "e30" + token],
        "algorithm": [
            jwt.encode(claims, public, "HS256", head | {"alg": "HS256"}),
            jwt.encode(claims, "", "none", head | {"alg": "none"}),
        ],
        "unknown_key": [
            jwt.encode(claims, stranger, "ES256", {"kid": "invented"}),
            jwt.encode(claims, stranger, "ES256"),
        ],
        "signature": [jwt.encode(claims, stranger, "ES256", head), f"{unsigned}.", f"{unsigned}.{'A' * 86}"],
        "expired": [signed(exp=int(time.time()) - 1), signed(exp=None)],
        "issuer": [signed(iss="https://other.example.com")],
        "audience": [signed(aud="another")],
    }
    checking = verifier()
    assert (await checking.verify(signed()))["sub"] == claims["sub"]
    for code, tokens in forged.items():
        for each in tokens:
            with pytest.raises(TokenError) as refused:
                await checking.verify(each)
            assert refused.value.code == code
            assert signature not in str(refused.value)


async def test_k19_unknown_keys_are_read_for_once_a_minute(verifier: MakeVerifier, token: str) -> None:
    """K19: any number of invented keys costs one request."""
    wire = Wire()
    checking = verifier(wire)
    stranger = ec.generate_private_key(ec.SECP256R1())
    invented = jwt.encode({"sub": "x"}, stranger, "ES256", {"kid": "0"})
    tail = invented.partition(".")[2]
    for number in range(500):
        head = jwt.encode({}, stranger, "ES256", {"kid": str(number)}).partition(".")[0]
        with pytest.raises(TokenError, match="key"):
            await checking.verify(f"{head}.{tail}")
    assert (await checking.verify(token))["aud"] == "python"
    assert len(wire.requests) == 1


def test_keys_are_read_again_for_age_and_for_unknown_ids() -> None:
    keys = KeySet()
    assert keys.is_due("a", 0.0)
    keys.replace(
        {"keys": [{"kid": "a", "kty": "EC", "crv": "P-256"}, {"kid": 1}, None, {"kid": "r", "kty": "RSA"}]}, 0.0
    )
    assert set(keys.keys) == {"a"}
    assert [keys.is_due("a", age) for age in (59, 299, 300)] == [False, False, True]
    assert [keys.is_due("b", age) for age in (59, 60, 300)] == [False, True, True]
    answers: tuple[Any, ...] = (None, [], {"keys": 1})
    for broken in answers:
        keys.replace(broken, 1.0)
        assert keys.keys == {}


async def test_an_ended_session_is_seen_online_only(verifier: MakeVerifier, user: Client, token: str) -> None:
    wire = Wire()
    offline, online, remembering = verifier(), verifier(online=True), verifier(wire, online=True)
    for _ in range(3):
        await remembering.verify(token)
    assert [each.url.path.rpartition("/")[2] for each in wire.requests] == ["python", "user"]
    assert wire.requests[1].headers["authorization"] == f"Bearer {token}"
    user.auth.logout()
    assert (await offline.verify(token))["sub"]
    with pytest.raises(TokenError) as ended:
        await online.verify(token)
    assert ended.value.code == "ended"


HEADERS: dict[str, tuple[Any, str | None]] = {
    "a mapping": ({"Authorization": "Bearer a.b.c"}, "a.b.c"),
    "an ASGI scope": ([(b"host", b"x"), (b"authorization", b"bearer a.b.c")], "a.b.c"),
    "none": ({}, None),
    "another scheme": ({"authorization": "Basic a"}, None),
    "empty": ({"authorization": "Bearer "}, None),
    "two": ([(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")], None),
}


@pytest.mark.parametrize("case", HEADERS)
def test_the_bearer_of_a_request_is_one_token(case: str) -> None:
    headers, wanted = HEADERS[case]
    assert bearer(headers) == wanted


@pytest.mark.skipif(not PYTHON.exists(), reason="scripts/setup dev installs FastAPI")
def test_the_example_of_fastapi_answers_its_users(project: Project, user: Client, token: str, tmp_path: Path) -> None:
    """It runs with the packages of `.generators`, and the client's own beside them."""
    port = free_port()
    needed = [Path(each.__file__ or "").parents[1] for each in (httpx2, joserfc)]
    paths = [ROOT / "clients/python", EXAMPLE.parent, *needed]
    settings = {"URL": project.url, "PROJECT": project.project_id, "API_KEY": project.secret, "HOME": str(tmp_path)}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, paths)), **settings}
    command = [str(PYTHON), "-m", "uvicorn", "fastapi_app:app", "--port", str(port)]
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)  # noqa: S603 - our example
        try:
            url = f"http://127.0.0.1:{port}/books"
            wait_until(lambda: process.poll() is not None or is_answering(url), START_SECONDS)
            assert process.poll() is None, (tmp_path / "output").read_text()
            signed = {"authorization": f"Bearer {token}"}
            made = httpx2.post(url, json={"title": f"of {user.auth.user().id}"}, headers=signed)
            assert made.status_code == 200, made.text
            assert made.json()["data"]["title"] in [each["title"] for each in httpx2.get(url, headers=signed).json()]
            assert (
                httpx2.get(url).status_code == httpx2.get(url, headers={"authorization": "Bearer x"}).status_code == 401
            )
        finally:
            process.kill()
            process.wait()


def is_answering(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return bool(httpx2.get(url).status_code)
    return False
