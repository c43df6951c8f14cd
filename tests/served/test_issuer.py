"""Libraries and a gateway that verify a project's tokens by the issuer's URL alone, and ask about them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from faults.commands import free_port
from faults.waiting import wait_until
from service.cli.running import run_on
from service.settings import Settings
from tests.served.conftest import Served
from tests.served.generators.test_generators import NODE_MODULES
from tests.served.test_verify_token import is_answering
from tests.served.walkthrough import FILE, ROOT

NODE = shutil.which("node")
PROJECT = "issuer"
needs_node = pytest.mark.skipif(
    not NODE or not (NODE_MODULES / "openid-client").exists(), reason="Node and its packages are not installed"
)


@pytest.fixture(scope="module")
def account(served: Served, served_settings: dict[str, str]) -> dict[str, str]:
    """The issuer, the secret key, and a user's id and token, of a project as `project create` makes it."""
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    _, keys = run_on(settings, lambda services: services.base.admin.create_new("Issuer", PROJECT, {}))
    body = {"email": "ann@example.com", "password": "correct horse"}
    answer = httpx2.post(
        f"{served.base_url}/auth-collections/signup", json=body, headers={"x-api-key": keys.publishable}
    ).json()
    issuer = f"{served.base_url}/auth-collections/issuer/{PROJECT}"
    return {"issuer": issuer, "key": keys.secret, "id": answer["user"]["id"], "token": answer["access_token"]}


def node(folder: Path, *arguments: str) -> list[str]:
    """A command of Node in a folder with the packages of the tests."""
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(NODE_MODULES)
    return [NODE or "", *arguments]


@needs_node
def test_jose_and_openid_client_need_the_issuer_alone(account: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "peers.mjs"
    script.write_text(Path(__file__).with_name("issuer").joinpath("peers.mjs").read_text())
    command = node(tmp_path, str(script), account["issuer"], PROJECT, account["key"], account["token"])
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 - a file of the tests
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "jose": account["id"],
        "refused": "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
        "oidc": account["id"],
        "oidc dead": False,
        "oauth2": account["id"],
        "oauth2 dead": False,
    }


@needs_node
def test_the_gateway_of_the_page_needs_the_issuer_alone(
    account: dict[str, str], served: Served, tmp_path: Path
) -> None:
    page = dict(FILE.findall((ROOT / "docs/guides/verify-token.md").read_text()))
    (tmp_path / "gateway.mjs").write_text(page["verify/gateway.mjs"])
    port = free_port()
    process = subprocess.Popen(  # noqa: S603 - a file of the page
        node(tmp_path, "gateway.mjs"),
        cwd=tmp_path,
        env={"ISSUER": account["issuer"], "PROJECT": PROJECT, "PORT": str(port)},
    )
    try:
        url = f"http://127.0.0.1:{port}/me"
        wait_until(lambda: is_answering(url), 60)
        found = [httpx2.get(url, headers={"authorization": f"Bearer {t}"}) for t in (account["token"], served.token)]
        assert (found[0].status_code, found[0].json()) == (200, {"id": account["id"]})
        # A good token of another project.
        assert found[1].status_code == 401
    finally:
        process.kill()
        process.wait()


def test_pyjwt_needs_the_issuer_alone(account: dict[str, str]) -> None:
    metadata: dict[str, Any] = httpx2.get(f"{account['issuer']}/.well-known/openid-configuration").json()
    key = jwt.PyJWKClient(metadata["jwks_uri"]).get_signing_key_from_jwt(account["token"])
    claims = jwt.decode(
        account["token"],
        key,
        algorithms=metadata["id_token_signing_alg_values_supported"],
        audience=PROJECT,
        issuer=metadata["issuer"],
    )
    assert claims["sub"] == account["id"]
