"""`auth-collections operator` and `admin`: what a deployment's people are, and any row of the Admin API as a command."""

import json

import pytest

from faults.commands import Shell, await_ready, free_port, serving


def invite(shell: Shell, email: str, *more: str) -> str:
    return str(shell.json("operator", "invite", email, *more)["invitation"]["link"])


def accept(shell: Shell, port: int, link: str, **more: str) -> None:
    """As a browser on this machine does."""
    import httpx2

    origin = f"http://127.0.0.1:{port}"
    body = {"token": link.rpartition("/")[2], "name": "Olga", "password": "a long pass phrase", **more}
    answer = httpx2.post(
        f"{origin}/admin/v1/invitations/accept",
        json=body,
        headers={"origin": origin, "sec-fetch-site": "same-origin"},
        timeout=60,
    )
    assert answer.status_code == 201, answer.text
    assert answer.headers["set-cookie"].startswith("console_")


def test_an_operator_from_the_invitation_to_the_removal(shell: Shell) -> None:
    port = free_port()
    address = {"BASE_URL": f"http://127.0.0.1:{port}"}
    with serving(shell, "--port", str(port), **address):
        await_ready(f"http://127.0.0.1:{port}")
        link = shell.run("operator", "invite", "olga@example.com", **address).stdout.strip()
        assert link.startswith(f"http://127.0.0.1:{port}/console/#/join/")
        accept(shell, port, link)
    shell.json("project", "create", "P", "--id", "p")
    assert [each["email"] for each in shell.json("operator", "list")] == ["olga@example.com"]
    assert shell.json("operator", "show", "Olga@example.com")["roles"] == {"*": "owner"}
    refused = shell.run("operator", "remove", "olga@example.com")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    role = shell.json("operator", "role", "olga@example.com", "--project", "p", "--role", "viewer")
    assert role["roles"] == {"*": "owner", "p": "viewer"}
    made = shell.json("operator", "token", "create", "olga@example.com", "--name", "ci", "--scope", "p:data:read")
    assert made["token"].startswith("aco_")
    listed = shell.json("operator", "token", "list", "olga@example.com")
    assert [each["id"] for each in listed] == [made["id"]]
    assert shell.json("operator", "token", "revoke", "olga@example.com", made["id"])["revoked"] is True
    again = shell.json("operator", "reset", "olga@example.com")["invitation"]
    assert again.keys() == {"id", "link", "expires_at"}
    assert shell.run("operator", "disable", "olga@example.com").returncode == 1
    unknown = shell.run("operator", "show", "nobody@example.com")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)


def test_a_command_does_what_a_row_of_the_admin_api_does(shell: Shell) -> None:
    body = json.dumps({"name": "Shop", "id": "shop"})
    made = shell.run("admin", "POST", "/admin/v1/projects", "--data", body)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["api_key"].startswith("ac_shop_")
    schema = json.dumps({"name": "notes", "schema": {"text": {"type": "string"}}})
    place = "/admin/v1/projects/shop/api/collections"
    assert shell.run("admin", "POST", place, "--data", schema).returncode == 0
    (entry,) = shell.json("audit", "list", "--project", "shop", "--action", "collection.created")["entries"]
    assert entry["actor"]["kind"] == "cli"
    listed = shell.run("admin", "GET", f"{place}/notes/documents", "--query", "limit=1")
    assert json.loads(listed.stdout)["limit"] == 1
    assert shell.run("admin", "DELETE", f"{place}/notes").returncode == 0
    deleted = shell.run("admin", "POST", "/admin/v1/projects/shop/deletion", "--data", '{"confirm": "Shop"}')
    assert (deleted.returncode, json.loads(deleted.stdout)) == (0, {"deleting": True})


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        pytest.param(("GET", "/admin/v1/projects/none/api/rules"), 1, "project_not_found", id="an error"),
        pytest.param(("GET", "/admin/v1/session"), 1, "forbidden", id="a row of a session"),
        pytest.param(("GET", "/admin/v1/me/tokens"), 1, "forbidden", id="a row of an account"),
        pytest.param(("GET", "/admin/v1/none"), 1, "not_found", id="no row"),
        pytest.param(("POST", "/admin/v1/projects", "--data", "{"), 2, None, id="no JSON"),
        pytest.param(("GET", "/api/collections"), 2, None, id="no path of the Admin API"),
    ],
)
def test_a_refused_command_prints_the_error_and_one_line(
    shell: Shell, arguments: tuple[str, ...], status: int, code: str | None
) -> None:
    result = shell.run("admin", *arguments)
    assert result.returncode == status, result.stderr
    assert (json.loads(result.stdout)["code"] if result.stdout else None) == code
    assert "Traceback" not in result.stderr


def test_the_admin_document_is_printed(shell: Shell) -> None:
    document = json.loads(shell.run("openapi", "--admin").stdout)
    assert "operatorToken" in document["components"]["securitySchemes"]
    assert all(path.startswith("/admin/v1") for path in document["paths"])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_says_once_how_the_first_operator_begins(shell: Shell, workers: str) -> None:
    port = free_port()
    with serving(shell, "--port", str(port), "--workers", workers, LOG_FORMAT="json") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Serving on ")
        # No person reads a pipe, and a link does not belong in collected logs.
        assert process.stdout.readline() == (
            "No operator yet: `auth-collections operator invite EMAIL` prints a link that makes the first one\n"
        )
        await_ready(f"http://127.0.0.1:{port}")
        process.terminate()
        assert process.stdout.read() == ""


def test_serve_prints_the_first_owners_link_of_an_embedded_mongodb(shell: Shell) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with serving(shell, "--port", str(port), MONGODB_URI="", SECRET_KEY="") as process:
        assert process.stdout is not None
        process.stdout.readline()
        line = process.stdout.readline()
        assert f" {address}/console/#/join/" in line
        await_ready(address)
        accept(shell, port, line.split()[-1], email="olga@example.com")
    with serving(shell, "--port", str(port), MONGODB_URI="", SECRET_KEY="") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Serving on ")
        assert process.stdout.readline() == f"Console: {address}/console/\n"
