"""V23: no exception object lives as long as its module. The check of the source, and what imports really leave behind."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.exception_instances import find_instances, main

ROOT = Path(__file__).parents[1]
ERRORS = """
class Broken(Exception):
    @classmethod
    def one(cls): return cls()
class Worse(Broken): ...
def broken(why: str) -> Broken: return Broken(why)
"""
REMAINING = """
import gc, importlib, pkgutil, service
for module in pkgutil.walk_packages(service.__path__, "service."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
gc.collect()
print([repr(each) for each in gc.get_objects() if isinstance(each, Exception) and type(each).__module__.startswith("service")])
"""


@pytest.mark.parametrize(
    "line",
    [
        "SHARED = Worse()",
        "SHARED = errors.Worse('x')",
        "SHARED = Broken.one()",
        "SHARED = broken('why')",
        "SHARED = {'one': (1, [ValueError()])}",
        "class Holder: shared = Broken()",
        "def use(error=Broken()): ...",
        "async def use(*, error=Broken()): ...",
        "use = lambda error=Broken(): error",
        "if True:\n    SHARED = Worse()",
    ],
)
def test_v23_the_check_finds_an_instance_at_module_level(line: str) -> None:
    modules = {"errors.py": ast.parse(ERRORS), "other.py": ast.parse(line)}
    assert [place.partition(":")[0] for place in find_instances(modules)] == ["other.py"]


@pytest.mark.parametrize(
    "line",
    [
        "SHARED = partial(Worse, 'x')",
        "KINDS = (Broken, Worse)",
        "def use(): return Worse()",
        "use = lambda: Broken()",
        "KINDS = Broken.__subclasses__()",
        "raise ImportError('too old')",
    ],
)
def test_v23_the_check_passes_what_is_made_when_it_is_raised(line: str) -> None:
    assert find_instances({"errors.py": ast.parse(ERRORS), "other.py": ast.parse(line)}) == []


def test_v23_the_check_exits_with_1_and_names_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text("\nSHARED = ValueError()\n")
    assert main([str(tmp_path)]) == 1
    assert f"{tmp_path}/bad.py:2 " in capsys.readouterr().err


def test_v23_no_module_keeps_an_exception_instance() -> None:
    """The import of every module leaves none behind. `scripts/check` reads all sources."""
    command = [sys.executable, "-c", REMAINING]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own text
    assert found.stdout == "[]\n"


def test_v23_the_check_is_part_of_scripts_check() -> None:
    assert "-m tests.exception_instances" in (ROOT / "scripts" / "check").read_text()
