"""What a reader follows from a page is there: links, routes, commands. `scripts/docs --check` holds the tables."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from service.cli.main import app
from service.web.routes import ROUTES

ROOT = Path(__file__).parent.parent
PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NOW = [page for page in PAGES if not page.startswith(("CHANGELOG", "docs/decisions"))]
PARAMETER = re.compile(r"\{\w+\}")


def found(page: str, pattern: str) -> list[Any]:
    return re.findall(pattern, (ROOT / page).read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    links = found(page, r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_readme_leads_to_every_page() -> None:
    assert set(found("README.md", r"\]\((docs/[\w-]+\.md)\)")) == {page for page in NOW if page.startswith("docs/")}


@pytest.mark.parametrize("page", NOW)
def test_every_route_that_a_page_names_is_one(page: str) -> None:
    routes = {(method, PARAMETER.sub("{}", route.path)) for route in ROUTES for method in route.methods or ()}
    named = {
        (method, PARAMETER.sub("{}", path))
        for method, path in found(page, r"\b([A-Z]{3,6}) (/[\w{}/.-]*[\w}])(?![\w{}/<])")
    }
    assert named - routes == set()


@pytest.mark.parametrize("page", NOW)
def test_every_command_that_a_page_names_is_one(page: str) -> None:
    for line in found(page, r"(?:`|bin/|^|service )auth-collections ([a-z][^`\n]*)"):
        words = line.replace("[", "").replace("]", "").split()
        assert {word for word in words if word.startswith("--")} <= options_of(words), line


def options_of(words: list[str]) -> set[str]:
    """The options of the command that these words begin with. Fails where there is none."""
    command: Any = typer.main.get_command(app)
    for word in words:
        if not hasattr(command, "commands"):
            break
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}
