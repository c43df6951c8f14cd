"""Generated types with the client, for type checkers, and the command that fetches them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from auth_collections_client import types
from tests.served.clients.python.conftest import Project
from tests.served.walkthrough import Walkthrough

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests/contract/golden"
TYPED = Path(__file__).parent / "typed"
CLIENT = ROOT / "clients/python"
PYRIGHT = ROOT / "clients/typescript/node_modules/pyright/index.js"


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


@pytest.mark.skipif(not PYRIGHT.exists(), reason="scripts/setup dev installs pyright where npm is")
def test_strict_pyright_takes_the_golden_texts_and_finds_each_mistake(node: str, folder: Path) -> None:
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(CLIENT)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [node, str(PYRIGHT), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - pyright
    report = json.loads(done.stdout)
    # The three texts, the program that is right, and the one that is wrong.
    assert report["summary"]["filesAnalyzed"] == 5, done.stdout
    found = [(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in report["generalDiagnostics"]]
    assert sorted(found) == [("wrong.py", line) for line in sorted(mistakes(folder))], done.stdout


def test_the_commands_of_the_page_write_the_types(
    project: Project, served_settings: dict[str, str], tmp_path: Path
) -> None:
    keys = {"URL": project.url, "API_KEY": project.secret, "PROJECT": project.project_id}
    page = Walkthrough("types.md", tmp_path, {"PATH": os.environ["PATH"], **served_settings, **keys}, {})
    page.follow()
    assert len(page.statuses) == 2
    assert "export interface NewBooks {" in (tmp_path / "schema.ts").read_text()
    assert "NewBooks = TypedDict(" in (tmp_path / "schema.py").read_text()


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
