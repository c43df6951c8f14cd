"""The container's files: linted, and their command run as their user, without privileges, on a read-only file system."""

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from faults.commands import await_ready, free_port

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
SERVICE = COMPOSE["services"]["service"]
USER = "10001"
can_isolate = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("unshare") and shutil.which("setpriv")


def lint(*command: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(command[0])
    return subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603


def test_the_dockerfile_has_no_faults() -> None:
    found = lint("hadolint", "docker/Dockerfile")
    assert found.returncode == 0, found.stdout


def test_the_compose_file_conforms_to_the_compose_specification() -> None:
    found = lint("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker/compose.yaml")
    assert found.returncode == 0, found.stdout


def test_the_image_is_not_root_and_the_container_is_read_only() -> None:
    dockerfile = (ROOT / "docker/Dockerfile").read_text()
    assert f"USER {USER}:{USER}" in dockerfile
    assert all(service["read_only"] for service in COMPOSE["services"].values())
    assert all("/tmp" in service["tmpfs"] for service in COMPOSE["services"].values())  # noqa: S108 - in the container
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]


def test_every_secret_and_config_that_is_mounted_is_named() -> None:
    mounted = {secret for service in COMPOSE["services"].values() for secret in service.get("secrets", [])}
    assert mounted == COMPOSE["secrets"].keys()
    made = (ROOT / "docker/make-secrets").read_text()
    assert all(f"keep {name}\n" in made for name in mounted)
    assert all((ROOT / "docker" / config["file"]).is_file() for config in COMPOSE["configs"].values())


def test_a_new_primary_is_elected_after_three_seconds() -> None:
    assert "electionTimeoutMillis: 3000" in (ROOT / "docker/replica-set.js").read_text()


@pytest.fixture
def secrets(mongodb_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files as `make-secrets` makes them, where another user can reach them."""
    folder = Path("/var/tmp") / f"{tmp_path_factory.mktemp('secrets').name}-{os.getpid()}"  # noqa: S108 - removed below
    folder.mkdir(mode=0o755)
    (folder / "tmp").mkdir()
    (folder / "mongodb_uri").write_text(f"{mongodb_uri}\n")
    (folder / "secret_key").write_text(base64.b64encode(b"k" * 32).decode() + "\n")
    yield folder
    shutil.rmtree(folder)


def opened_python() -> str:
    """Shell that lets another user reach this interpreter, in a mount namespace of its own: it may lie in a closed home."""
    base = Path(sys.base_prefix)
    closed = next((str(parent) for parent in reversed(base.parents) if not parent.stat().st_mode & 1), None)
    if closed is None:
        return "true"
    opened = f"mount -t tmpfs -o mode=755 tmpfs {closed} && mkdir -p {base}"
    return f"mount --bind {base} /mnt && {opened} && mount --bind /mnt {base}"


@pytest.fixture
def container(secrets: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process and its URL: entry, command, environment and rights are those of the image and of compose.yaml."""
    url = f"http://127.0.0.1:{free_port()}"
    places = {"0.0.0.0": "127.0.0.1", "8000": url.rpartition(":")[2]}  # noqa: S104 - what the test replaces
    command = [places.get(word, word) for word in SERVICE["command"]]
    run = f"setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
    entry = Path(sys.executable).with_name("auth-collections")
    memory = f"mount -t tmpfs -o mode=1777 tmpfs {secrets / 'tmp'}"
    mounts = f"mount --make-rprivate / && {opened_python()} && {memory} && mount -o remount,bind,ro /"
    script = f'{mounts} && exec {run} {entry} "$@"'
    environment: dict[str, Any] = {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "MONGODB_URI_FILE": str(secrets / "mongodb_uri"),
        "SECRET_KEY_FILE": str(secrets / "secret_key"),
        "DATABASE_PREFIX": "container_",
        # The container's own /tmp; the one of this machine may hold the program.
        "TMPDIR": str(secrets / "tmp"),
        "LOG_FORMAT": "json",
    }
    arguments = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
    with subprocess.Popen(arguments, env=environment, cwd="/") as process:  # noqa: S603 - the container's own command
        try:
            await_ready(url)
            yield process, url
        finally:
            process.terminate()


def proc(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()


@pytest.mark.skipif(not can_isolate, reason="becoming another user on a read-only file system needs root on Linux")
def test_the_container_command_serves_without_rights(container: tuple[subprocess.Popen[bytes], str]) -> None:
    process, url = container
    status = dict(line.split(":\t", 1) for line in proc(process.pid, "status").splitlines() if ":\t" in line)
    assert status["Uid"].split() == [USER] * 4
    assert (status["CapEff"], status["CapBnd"], status["NoNewPrivs"]) == ("0" * 16, "0" * 16, "1")
    root = next(line for line in proc(process.pid, "mountinfo").splitlines() if line.split()[4] == "/")
    assert root.split()[5].startswith("ro")
    workers = proc(process.pid, f"task/{process.pid}/children").split()
    assert sum("spawn_main" in proc(int(pid), "cmdline") for pid in workers) == 2
    assert httpx2.get(f"{url}/health/ready").json() == {"status": "ready"}
    process.terminate()
    assert process.wait(30) == 0
