"""The targets in the pages exist: links, routes, commands. `scripts/docs --check` holds the tables."""

import re
from pathlib import Path
from typing import Any

from service.cli.main import LazyCommand, app
from service.embedded.mongod import PARAMETERS
from service.services import Services
from service.web.routes import ADMIN_ROUTES, ROUTES

ROOT = Path(__file__).parent.parent
PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NOW = [page for page in PAGES if not page.startswith(("CHANGELOG", "docs/decisions"))]
PARAMETER = re.compile(r"\{\w+\}")


def found(page: str, pattern: str) -> list[Any]:
    return re.findall(pattern, (ROOT / page).read_text(), re.MULTILINE)


def test_every_link_leads_somewhere() -> None:
    broken = [
        f"{page}: {link}"
        for page in PAGES
        for link in found(page, r"\]\(([^)#:]+)(?:#[^)]*)?\)")
        if not (ROOT / page).parent.joinpath(link).exists()
    ]
    assert broken == []


def test_every_anchor_is_a_heading() -> None:
    broken = [
        f"{page}: {link}#{anchor}"
        for page in PAGES
        for link, anchor in found(page, r"\]\(([^)#:]*)#([^)]*)\)")
        if anchor not in anchors((ROOT / page).parent.joinpath(link) if link else ROOT / page)
    ]
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The anchors that a Markdown renderer makes of the headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_examples_call_addresses_and_keys_by_one_name() -> None:
    """`$URL`, `$API_KEY`, `$PUBLISHABLE_KEY` and `$TOKEN`, so that what one page exports serves the next."""
    strange = [
        f"{page}: {line}"
        for page in NOW
        for line in found(page, r"^ *(?:curl|-H) .*")
        if re.search(r"\$(KEY|BASE|SECRET|HOST)\b|\{base_url\}|x-api-key: (?!\$)|Bearer (?!\$)", line)
    ]
    assert strange == []


def test_decisions_are_numbered_one_after_the_other() -> None:
    headings = [path.read_text().split(".")[0] for path in sorted((ROOT / "docs/decisions").glob("*.md"))]
    assert headings == [f"# {number}" for number in range(1, len(headings) + 1)]


def test_the_glossary_is_in_order() -> None:
    words = found("docs/glossary.md", r"^\| ([\w( )-]+) \|")[1:]
    assert len(words) > 50
    assert words == sorted(words)


def test_the_readme_leads_to_every_page() -> None:
    assert set(found("README.md", r"\]\((docs/[\w/-]+\.md)\)")) == {page for page in NOW if page.startswith("docs/")}


def test_every_route_that_a_page_names_is_one() -> None:
    routes = {
        (method, PARAMETER.sub("{}", route.path))
        for route in (*ROUTES, *ADMIN_ROUTES)
        for method in route.methods or ()
    }
    unknown = [
        f"{page}: {method} {path}"
        for page in NOW
        for method, path in found(page, r"\b([A-Z]{3,6}) (/[\w{}/.-]*[\w}])(?![\w{}/<])")
        if (method, PARAMETER.sub("{}", path)) not in routes
    ]
    assert unknown == []


def test_every_command_that_a_page_names_is_one() -> None:
    unknown = []
    for page in NOW:
        for line in found(page, r"(?:`|bin/|^|service )auth-collections ([a-z][^`\n]*)"):
            words = line.replace("[", "").replace("]", "").split()
            if strange := {word for word in words if word.startswith("--")} - options_of(words):
                unknown.append(f"{page}: {line}: {strange}")
    assert unknown == []


def options_of(words: list[str]) -> set[str]:
    """The options of the command that these words begin with. Fails where there is none."""
    command: Any = app
    for word in words:
        if not hasattr(command, "commands"):
            break
        command = command.commands[word]
        command = command.load() if isinstance(command, LazyCommand) else command
    return {option for parameter in command.params for option in parameter.opts}


def test_b11_no_default_is_a_name_of_python() -> None:
    assert [page for page in NOW if found(page, r"`(Pydantic\w+|None|\(\)|\{\})`\s*\|")] == []


async def test_b12_the_page_of_operations_lists_every_job(services: Services, emptied: None) -> None:
    listed = found("docs/operations.md", r"^\| `(\w+)` \| in (?:every worker|the leader)")
    assert sorted(listed) == sorted(job.name for job in services.jobs.jobs)


def test_b14_no_page_speaks_of_a_file_that_is_not_there() -> None:
    assert [page for page in NOW if found(page, r"DESIGN\b")] == []


def test_the_page_of_exports_says_how_long_the_embedded_mongodb_keeps_a_moment() -> None:
    assert PARAMETERS["minSnapshotHistoryWindowInSeconds"] == 60
    page = " ".join((ROOT / "docs/import-export.md").read_text().split())
    assert "for one minute where the service starts MongoDB itself" in page
