"""Against a certified OpenID provider by another author: the generic preset, form_post, linking, and ID tokens of apps."""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import httpx2
import pytest

from faults.commands import NO_TLS, free_port
from faults.once import CHALLENGE, VERIFIER
from tests.conftest import BASE_URL
from tests.web.sign_in.people import sign_up
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import ending

SCRIPT = Path(__file__).parents[2] / "served/generators/provider.mjs"
# `scripts/generators` installs it, where npm is.
MODULES = Path(__file__).parents[3] / ".generators/node_modules"
CLIENT = {"CLIENT_ID": "app", "CLIENT_SECRET": "secret-of-the-client"}
ACTION = re.compile(r'<form[^>]*action="([^"]+)"')
FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
PHONE = "https://phone.example/back"
HOPS = 12

pytestmark = pytest.mark.skipif(
    not (MODULES / "oidc-provider").exists(), reason="scripts/setup dev installs the provider where npm is"
)


@contextmanager
def running(folder: Path, *redirects: str) -> Iterator[str]:
    """Its issuer."""
    node = shutil.which("node")
    assert node is not None
    shutil.copy(SCRIPT, folder)
    (folder / "node_modules").symlink_to(MODULES)
    port = free_port()
    command = [node, "provider.mjs", str(port), *redirects]
    with subprocess.Popen(  # noqa: S603 - a script of ours
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert "ready" in next(line for line in process.stdout if "ready" in line)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def sign_in(url: str, login: str) -> tuple[str, dict[str, str]]:
    """The way of a browser through the provider's pages: where it is sent back to, and what it posts there, if anything."""
    with httpx2.Client(verify=NO_TLS, timeout=60) as browser:
        answer = browser.get(url)
        for _ in range(HOPS):
            if answer.is_redirect:
                target = str(answer.url.join(answer.headers["location"]))
                if not target.startswith("http://127.0.0.1"):
                    return target, {}
                answer = browser.get(target)
                continue
            action = unescape(ACTION.search(answer.text)[1])  # type: ignore[index]
            fields = {name: unescape(value) for name, value in FIELD.findall(answer.text)}
            if not action.startswith("http://127.0.0.1"):
                return action, fields
            answer = browser.post(action, data={**fields, "login": login, "password": "x"})
    raise AssertionError("the provider goes in circles")


async def test_the_generic_preset_form_post_and_an_apps_id_token(providers: Providers, tmp_path: Path) -> None:
    path = f"{BASE_URL}/auth-collections/auth-idp-redirect/{providers.api.project.id}"
    with running(tmp_path, f"{path}/query", f"{path}/form") as issuer:
        await providers.set("query", "oidc", **CLIENT, ISSUER=issuer)
        await providers.set("form", "oidc", **CLIENT, ISSUER=issuer, RESPONSE_MODE="form_post", AUDIENCES="phone")
        location, posted = await asyncio.to_thread(sign_in, await providers.begin("query"), "ada")
        assert (query_of(location)["iss"], posted) == (issuer, {})
        assert ending(await providers.follow(location)).error is None
        # The answer of one issuer, at the redirect URL of another client of it.
        location, _ = await asyncio.to_thread(sign_in, await providers.begin("query"), "ada")
        moved = location.replace("/query?", "/form?")
        assert ending(await providers.follow(moved)).error == "authentication_failed"
        location, posted = await asyncio.to_thread(sign_in, await providers.begin("form"), "ada")
        assert location == f"{path}/form"
        assert posted.keys() >= {"code", "state", "iss"}
        assert ending(await providers.api.http.post(location, data=posted)).error is None
        location, posted = await asyncio.to_thread(sign_in, await providers.begin("form"), "mallory")
        assert ending(await providers.api.http.post(location, data=posted)).error == "authentication_failed"
        key = {"x-api-key": providers.api.publishable_key}
        options = "/auth-collections/login-id-token/options"
        start = (await providers.api.http.post(options, json={"provider": "form"}, headers=key)).json()
        token = await asyncio.to_thread(token_of, issuer, start["nonce"])
        body = {"flow_id": start["flow_id"], "id_token": token}
        answers = [await providers.api.http.post(options[:-8], json=body, headers=key) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 401]
        ann = await sign_up(providers)
        begun = await ann.begin("query")
        location, _ = await asyncio.to_thread(sign_in, begun.json()["url"], "ann")
        landed = await providers.follow(location)
        assert (await ann.confirm(query_of(landed.headers["location"])["svc-code"])).status_code == 201
    user, linked = providers.users()
    assert user["identities"] == [{"issuer": issuer, "subject": "ada"}]
    assert (linked["_id"], linked["identities"]) == (ann.id, [{"issuer": issuer, "subject": "ann"}])
    assert answers[0].json()["user"]["id"] == user["_id"]


def token_of(issuer: str, nonce: str) -> str:
    """The ID token that the provider itself gives to an app."""
    asked = {
        "client_id": "phone",
        "response_type": "code",
        "scope": "openid email profile",
        "nonce": nonce,
        "redirect_uri": PHONE,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    location, _ = sign_in(f"{issuer}/auth?{httpx2.QueryParams(asked)}", "ada")
    form = {"grant_type": "authorization_code", "code": query_of(location)["code"], "redirect_uri": PHONE}
    client = ("phone", CLIENT["CLIENT_SECRET"])
    with httpx2.Client(verify=NO_TLS, timeout=60) as app:
        answer = app.post(f"{issuer}/token", data={**form, "code_verifier": VERIFIER}, auth=client)
    return str(answer.json()["id_token"])
