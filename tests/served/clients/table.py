"""The conformance table: a project for each runner, the proxy before it, and the runner's own report."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from faults.commands import NO_TLS
from faults.provider import CLIENT_ID, CLIENT_SECRET, Account, Provider, running_provider
from faults.provider.accounts import person
from faults.provider.state import Grant
from service.cli.running import run_on
from service.domain.accounts.factor_codes import STEP_SECONDS, code_at
from service.domain.mail_flows.mailbox import read_messages
from service.settings import Settings
from tests.served.clients.proxy import Ask, Proxy, proxying

CLIENTS = Path(__file__).parents[3] / "clients"
CALLS = CLIENTS / "conformance/calls.json"
PROVIDER = "staff"
UNLIMITED = {f"{name}_LIMIT": "0" for name in ("SIGNUP", "LOGIN", "AUTH", "FILE", "MAIL_REQUEST", "CODE", "REFRESH")}


@dataclass(frozen=True)
class Project:
    """A project of the running service, reached through the proxy at `url`."""

    url: str
    project_id: str
    secret_key: str
    publishable_key: str
    issuer: str
    proxy: Proxy

    def config(self) -> dict[str, str]:
        return {
            "url": self.url,
            "project_id": self.project_id,
            "secret_key": self.secret_key,
            "publishable_key": self.publishable_key,
            "issuer": self.issuer,
            "control": f"{self.url}/__control",
            "calls": str(CALLS),
        }


@contextmanager
def project_of(base_url: str, environment: dict[str, str], project_id: str, **more: str) -> Iterator[Project]:
    """A new project with the collections, rules and settings of the table, and the provider `staff`."""
    table = json.loads(CALLS.read_text())["project"]
    settings = Settings(**{name.lower(): value for name, value in environment.items()})  # type: ignore[arg-type]
    allowed = {**UNLIMITED, "TIER": "enterprise", "CORS_ORIGINS": "*", **table["settings"], **more}
    _, keys = run_on(settings, lambda services: services.base.admin.create("Conformance", project_id, allowed))
    with httpx2.Client(base_url=base_url, headers={"x-api-key": keys.secret}) as server:
        for each in table["collections"]:
            server.post("/api/collections", json=each).raise_for_status()
        server.put("/api/rules", json=table["rules"]).raise_for_status()
    mails = _Mails(settings, project_id)
    with running_provider() as provider:
        at_provider = {"ISSUER": provider.issuer(), "CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET}
        run_on(settings, lambda services: services.base.providers.set(project_id, PROVIDER, "oidc", at_provider))
        asked = {"mail": mails.newest, "totp": _Codes().next, **_People(provider).asked()}
        with proxying(int(urlsplit(base_url).port or 0), **asked) as (proxy, url):
            yield Project(url, project_id, keys.secret, keys.publishable, base_url, proxy)


@dataclass(frozen=True)
class _People:
    """The people who sign in at the provider, with their browsers and apps."""

    provider: Provider

    def asked(self) -> dict[str, Ask]:
        return {"visit": self.visit, "id_token": self.id_token}

    def visit(self, query: dict[str, str]) -> dict[str, Any]:
        """Signs in at the address of a provider, and returns the address that the browser comes back to."""
        back = httpx2.get(self.provider.answer(query["url"], query.get("account", "ada")), verify=NO_TLS)
        url = str(back.headers["location"])
        return {"url": url, "code": dict(parse_qsl(urlsplit(url).query)).get("svc-code")}

    def id_token(self, query: dict[str, str]) -> dict[str, Any]:
        """Returns the ID token that an app got for the nonce."""
        account = Account(person("ada"), in_id_token=True)
        asked = {"client_id": CLIENT_ID, "nonce": query["nonce"]}
        return {"token": self.provider.id_token(Grant(account, "standard", asked))}


@dataclass
class _Mails:
    settings: Settings
    project_id: str

    def newest(self, query: dict[str, str]) -> dict[str, Any]:
        """The code and the link's token of the newest mail to that address."""
        found = run_on(self.settings, lambda services: read_messages(services.flows, self.project_id))
        mail = next(mail for mail in found if mail.to == query["to"])
        return {"code": mail.code, "token": (mail.link or "").partition("t=")[2]}


class _Codes:
    """Codes of apps. Each is good once, so the codes of a secret are those of the steps around the present one."""

    def __init__(self) -> None:
        self._steps: dict[str, int] = {}

    def next(self, query: dict[str, str]) -> dict[str, Any]:
        secret, present = query["secret"], int(time.time()) // STEP_SECONDS
        step = max(self._steps.get(secret, 0) + 1, present - 1)
        self._steps[secret] = step
        return {"code": code_at(secret, step * STEP_SECONDS)}


def run_table(command: Sequence[str | Path], project: Project) -> None:
    """Runs a runner with its configuration. Fails with all entries that came out otherwise."""
    done = subprocess.run(  # noqa: S603 - a runner of these tests
        [*command, json.dumps(project.config())], capture_output=True, text=True, check=False
    )
    judge([json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr)


def judge(reports: list[dict[str, Any]], stderr: str = "") -> None:
    names = [entry["name"] for entry in json.loads(CALLS.read_text())["calls"]]
    wrong = [json.dumps(report) for report in reports if not report["ok"]]
    assert wrong == [], "\n".join([*wrong, stderr])
    assert [report["name"] for report in reports] == names, stderr
