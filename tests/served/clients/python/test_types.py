"""Generated types with the client, for type checkers, and the command that fetches them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from auth_collections_client import types
from tests.served.clients.python.conftest import Project

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests/contract/golden"
TYPED = Path(__file__).parent / "typed"
CLIENT = ROOT / "clients/python"
PYRIGHT = ROOT / "clients/typescript/node_modules/pyright/index.js"
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden texts beside a program that uses them well and one whose marked lines are mistakes."""
    made = tmp_path_factory.mktemp("typed")
    for path in [*GOLDEN.glob("*.py.txt"), *TYPED.glob("*.py.txt")]:
        shutil.copy(path, made / path.name.removesuffix(".txt"))
    return made


def mistakes(folder: Path) -> set[int]:
    lines = (folder / "wrong.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if "# wrong" in line}


def test_mypy_takes_the_golden_texts_and_finds_each_mistake(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        ".",
    ]
    done = subprocess.run(  # noqa: S603 - mypy
        command, cwd=folder, env={"MYPYPATH": str(CLIENT)}, capture_output=True, text=True, check=False
    )
    errors = [line.split(":") for line in done.stdout.splitlines() if ": error: " in line]
    assert {name for name, *_ in errors} == {"wrong.py"}, done.stdout
    assert {int(number) for _, number, *_ in errors} == mistakes(folder), done.stdout


KEY = ("AUTH_COLLECTIONS_URL", "AUTH_COLLECTIONS_KEY")


@pytest.fixture
def environment(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(KEY[0], project.url)
    monkeypatch.setenv(KEY[1], project.secret)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_command_writes_compares_and_names_what_differs(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--language", language, "--out", "schema"]
    assert types.main(["--language", language]) == 0
    text = capsys.readouterr().out
    assert types.main([*named, "--check"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["books", "users"]
    assert types.main([*named, "--json"]) == 0
    assert (Path("schema").read_text(), '"bytes": ' in capsys.readouterr().out) == (text, True)
    assert types.main([*named, "--check"]) == 0
    Path("schema").write_text(text.replace("stock", "stuck"))
    assert types.main([*named, "--check"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["books"]
    assert Path("schema").read_text() != text


@pytest.mark.usefixtures("environment")
def test_every_failure_of_the_command_is_status_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert types.main(["--check"]) == 2
    assert types.main(["--out", "no/folder"]) == 2
    monkeypatch.setenv(KEY[1], "ac_wrong_key")
    assert types.main([]) == 2
    monkeypatch.delenv(KEY[0])
    assert types.main([]) == 2
    assert "AUTH_COLLECTIONS_URL" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        types.main(["--language", "cobol"])
