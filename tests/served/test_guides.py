"""The pages of docs/guides, followed from top to bottom, and what they promise beside their commands."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from pymongo import MongoClient

from faults.commands import Shell
from service.cli.running import run_on
from service.domain.mail_flows.mailbox import read_messages
from service.settings import Settings
from tests.served.conftest import Served
from tests.served.packages import install, needs_packages, run
from tests.served.walkthrough import COMMANDS, ROOT, Walkthrough, follow


@pytest.fixture(scope="module")
def teams(
    tmp_path_factory: pytest.TempPathFactory, served: Served, served_settings: dict[str, str], pages: str
) -> Walkthrough:
    return follow("guides/teams.md", tmp_path_factory.mktemp("teams"), served.base_url, served_settings, pages)


@pytest.fixture
def server(teams: Walkthrough) -> Iterator[httpx2.Client]:
    key = {"x-api-key": teams.environment["API_KEY"]}
    with httpx2.Client(base_url=teams.environment["URL"], headers=key) as client:
        yield client


def as_user(server: httpx2.Client, token: str, method: str, path: str, body: Any = None) -> httpx2.Response:
    return httpx2.request(method, f"{server.base_url}{path}", json=body, headers={"authorization": f"Bearer {token}"})


def sign_up(server: httpx2.Client, email: str) -> tuple[str, str]:
    """The token and the id of a new user, who has proven nothing."""
    made = server.post("/auth-collections/signup", json={"email": email, "password": "correct horse"}).json()
    return made["access_token"], made["user"]["id"]


def test_the_commands_of_teams_answer_as_the_page_says(teams: Walkthrough) -> None:
    lists = [json.loads(line) for line in teams.output.splitlines() if line.startswith('{"documents":')]
    invitations, bens_tasks, cleos_tasks, members, tasks_after_leaving = (each["documents"] for each in lists)
    assert [each["data"]["team"]["data"]["name"] for each in invitations] == ["Lighthouse"]
    assert [each["data"]["title"] for each in bens_tasks] == ["Clean the lens"]
    assert cleos_tasks == []
    assert [each["data"]["user"]["data"] for each in members] == [{"name": "Ann"}, {}]
    assert tasks_after_leaving == []


def test_an_invitation_is_for_those_who_have_proven_its_address(teams: Walkthrough, server: httpx2.Client) -> None:
    team_id = teams.environment["TEAM_ID"]
    invitation = {"data": {"team_id": team_id, "email": "dora@example.com"}}
    assert server.post("/api/collections/invitations/documents", json=invitation).status_code == 201
    token, user_id = sign_up(server, "dora@example.com")
    membership = {"data": {"team_id": team_id, "role": "member"}}
    joining = ("POST", "/api/collections/memberships/documents", membership)
    assert as_user(server, token, *joining).status_code == 403
    assert as_user(server, token, "GET", "/api/collections/invitations/documents").json()["total"] == 0
    server.patch(f"/auth-collections/users/{user_id}", json={"email_verified": True}).raise_for_status()
    membership["data"]["user_id"] = sign_up(server, "eve@example.com")[1]
    assert as_user(server, token, *joining).status_code == 422
    del membership["data"]["user_id"]
    assert as_user(server, token, *joining).status_code == 201
    # A second membership, and one as an admin, are refused.
    membership["data"]["role"] = "admin"
    assert as_user(server, token, *joining).status_code == 403
    membership["data"]["role"] = "member"
    assert as_user(server, token, *joining).status_code == 403


def invite_by(teams: Walkthrough, settings: dict[str, str], founder: str, guest: str, *command: str | Path) -> None:
    """Runs a program of the page, and gives it the code of the guest's mail as soon as the mail is there."""
    program = [*command, f"{founder}@example.com", f"{guest}@example.com"]
    environment = Settings(**{name.lower(): value for name, value in settings.items()})  # type: ignore[arg-type]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - a program of the page
        program, cwd=teams.folder, env=teams.environment, stdin=pipe, stdout=pipe, text=True
    ) as running:
        assert running.stdout is not None
        prompt = running.stdout.read(len("Code: "))
        mails = run_on(environment, lambda services: read_messages(services.flows, "teams"))
        code = next((mail.code for mail in mails if mail.to == program[-1]), "")
        printed, _ = running.communicate(f"{code}\n")
    assert (prompt, printed.strip(), running.returncode) == ("Code: ", "Joined Harbour", 0)


def test_a_program_of_python_invites_and_joins(
    teams: Walkthrough, served_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(teams.environment, "PYTHONPATH", str(ROOT / "clients/python"))
    invite_by(teams, served_settings, "dan", "fay", sys.executable, "-u", "teams/invite.py")


@needs_packages
def test_a_program_of_typescript_invites_and_joins(
    teams: Walkthrough, served_settings: dict[str, str], node: str, package: Path
) -> None:
    install(package, teams.folder)
    invite_by(teams, served_settings, "gus", "hal", node, "teams/invite.mjs")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, served: Served, served_settings: dict[str, str]) -> Walkthrough:
    return follow("guides/delete-user.md", tmp_path_factory.mktemp("people"), served.base_url, served_settings, "")


def test_deleting_a_user(people: Walkthrough, served_settings: dict[str, str], mongo: MongoClient[Any]) -> None:
    walk, tmp_path = people, people.folder
    assert "comments author_id\nnotes owner_id\n" in walk.output
    assert '"email":"ann@example.com"' in (tmp_path / "people/user.json").read_text()
    assert (tmp_path / "people/notes.ndjson").read_text().count('"text"') == 2
    assert "Well said" in (tmp_path / "people/comments.ndjson").read_text()
    assert '"user_disabled"' in (tmp_path / "people/events.json").read_text()
    assert walk.output.count('{"documents":[],"total":0') == 2
    project = mongo[f"{served_settings['DATABASE_PREFIX']}p_people"]
    user_id = walk.environment["USER_ID"]
    named = {
        name
        for name in project.list_collection_names()
        for record in project[name].find()
        if user_id in repr(record) or "ann@example.com" in repr(record)
    }
    assert named == {"events"}


def delete_by(people: Walkthrough, name: str, *command: str | Path) -> None:
    """Runs a program of the page for a user with notes and a comment."""
    folder, email = people.folder, f"{name}@example.com"
    with httpx2.Client(
        base_url=people.environment["URL"], headers={"x-api-key": people.environment["API_KEY"]}
    ) as server:
        user_id = server.post("/auth-collections/users", json={"email": email}).json()["id"]
        for collection, field, text in (
            ("notes", "owner_id", "A"),
            ("notes", "owner_id", "B"),
            ("comments", "author_id", name),
        ):
            data = {"text": text, field: user_id}
            server.post(f"/api/collections/{collection}/documents", json={"data": data}).raise_for_status()
        run(folder, *command, email, **people.environment)
        assert (folder / "people/notes.ndjson").read_text().count('"text"') == 2
        assert server.get(f"/auth-collections/users/{user_id}").status_code == 404
        assert server.get("/api/collections/notes/documents").json()["total"] == 0
        (left,) = server.get(f"/api/collections/comments/documents?text_eq={name}").json()["documents"]
        assert left["data"] == {"text": name}


def test_a_program_of_python_deletes_a_user(people: Walkthrough, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(people.environment, "PYTHONPATH", str(ROOT / "clients/python"))
    delete_by(people, "ben", sys.executable, "people/delete.py")


@needs_packages
def test_a_program_of_typescript_deletes_a_user(people: Walkthrough, node: str, package: Path) -> None:
    install(package, people.folder)
    delete_by(people, "cleo", node, "people/delete.mjs")


def test_a_backup_of_a_folder_is_put_back(tmp_path: Path) -> None:
    shell = Shell({"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data"), "BCRYPT_COST": "4"})
    back_up, put_back = COMMANDS.findall((ROOT / "docs/guides/backup.md").read_text())
    shell.json("project", "create", "Before", "--id", "before")
    subprocess.run(["sh", "-ec", back_up], cwd=tmp_path, check=True)  # noqa: S603, S607 - the reader's own shell
    shell.json("project", "create", "After", "--id", "after")
    subprocess.run(["sh", "-ec", put_back], cwd=tmp_path, check=True)  # noqa: S603, S607
    assert [each["project_id"] for each in shell.json("project", "list")] == ["before"]
    checked = shell.run("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_project_is_kept_by_ci(tmp_path: Path, served_settings: dict[str, str], served: Served) -> None:
    walk = follow("guides/ci.md", tmp_path, served.base_url, served_settings, "")
    assert walk.output.count("products: 2 created") == 3
    manifest, jobs = tmp_path / "shop/shop.yaml", yaml.safe_load((tmp_path / "shop/ci/workflow.yml").read_text())
    scripts = [step["run"] for step in jobs["jobs"]["try"]["steps"] if step.get("run", "").startswith("sh ")]
    assert scripts == ["sh ci/try.sh", "sh ci/release.sh"]

    def run(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            script.split(), cwd=tmp_path / "shop", env=walk.environment, capture_output=True, text=True, check=False
        )

    again = run(scripts[1])
    assert (again.returncode, again.stdout.count("products: 2 unchanged")) == (0, 2), again.stdout + again.stderr
    manifest.write_text(manifest.read_text().replace("{is_public_eq: true}", "{is_public_eq: false}"))
    for script in scripts:
        broken = run(script)
        assert broken.returncode == 1
        assert "a guest reads a public product" in broken.stdout
    assert "Dry run" in broken.stdout
    for printed in (walk.output, broken.stdout):
        assert printed.count("ac_shop_") == printed.count("api_key:")
