"""The docs promise what the code does, and nothing else: operators, settings, variables, errors, limits."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route

from service import bounds, errors
from service.domain.lists import LIST_SECONDS
from service.domain.projects.settings import TIER_LIMITS, ProjectSettings
from service.query import operators
from service.query.pipeline import PROBE_LIMIT
from service.schema import options
from service.schema.pattern_budget import MAX_MATCHES
from service.server.protocol import REFUSALS
from service.settings import Settings
from service.storage.definitions import CHANGE_SECONDS
from service.web.http.render import HTTP_CODES
from service.web.routes import ROUTES

ROOT = Path(__file__).parent.parent


def first_cells(page: str, pattern: str) -> list[str]:
    """What stands in back quotes in the first cell of each table row of `page` and fits `pattern`."""
    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / page).read_text(), re.MULTILINE)
    return [row for row in rows if re.fullmatch(pattern, row)]


def every_error(base: type[errors.ServiceError] = errors.ServiceError) -> Iterator[type[errors.ServiceError]]:
    yield base
    for derived in base.__subclasses__():
        yield from every_error(derived)


def test_every_operator_is_documented() -> None:
    assert first_cells("docs/queries.md", "_[a-z]+") == [f"_{name}" for name in operators.OPERATORS]


def test_the_limits_of_queries_are_those_of_the_code() -> None:
    text = (ROOT / "docs/queries.md").read_text()
    promised = [
        f"at most {bounds.MAX_CONTAINS} characters",
        f"at most {bounds.MAX_IN}, separated by commas",
        f"up to {bounds.MAX_RELATION_DEPTH} relations deep",
        f"up to {bounds.MAX_POPULATE} names",
        f"1 to {bounds.MAX_LIMIT}",
        f"{bounds.MAX_QUERY_BYTES:,} bytes and {bounds.MAX_CONDITIONS} conditions",
        f"at most {LIST_SECONDS:.0f} seconds",
        f"at most {PROBE_LIMIT:,}",
    ]
    assert [promise for promise in promised if promise not in text] == []


def test_every_project_setting_is_documented_with_its_default() -> None:
    fields = ProjectSettings.model_fields
    assert first_cells("docs/settings.md", "[A-Z_]+") == [name.upper() for name in fields]
    text = (ROOT / "docs/settings.md").read_text()
    for name, field in fields.items():
        if field.default not in (None, ()):
            assert re.search(rf"^\| `{name.upper()}` \| `?{field.default}`? \|", text, re.MULTILINE), name
    assert all(f"`{tier}`: {limit:,}" in text for tier, limit in TIER_LIMITS.items())


def test_every_variable_of_the_environment_is_documented_with_its_default() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    documented = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert list(documented) == [name.upper() for name in Settings.model_fields]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, ()) else str(field.default)
        assert documented[name.upper()].removeprefix("./") == default, name


def test_every_error_is_documented_with_its_status() -> None:
    text = (ROOT / "docs/errors.md").read_text()
    documented = {(int(status), code) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", text, re.MULTILINE)}
    raised = {(error.status, error.code) for error in every_error()} - {(500, errors.ConfigurationError.code)}
    refused = {(status, json.loads(body)["code"]) for status, (_, body) in REFUSALS.items()}
    assert documented == raised | set(HTTP_CODES.items()) | refused


def test_the_tree_in_the_docstring_of_errors_is_the_real_one() -> None:
    named = set(re.findall(r"\b([A-Z][A-Za-z]+)\b(?= \d{3}|,| \(| ──|\n|$)", errors.__doc__ or ""))
    assert {error.__name__ for error in every_error()} <= named


def test_every_type_and_option_of_a_schema_is_documented() -> None:
    text = (ROOT / "docs/schemas.md").read_text()
    types = dict(re.findall(r"^\| `([a-z]+)` \| .* \| ([^|]*) \|$", text, re.MULTILINE))
    assert {name: set(re.findall("`([a-z_]+)`", cell)) for name, cell in types.items()} == {
        kind.value: set(taken - options.EVERY) for kind, taken in options.OPTIONS.items()
    }
    documented = set(first_cells("docs/schemas.md", "[a-z_]+")) - set(types)
    assert documented == {name for taken in options.OPTIONS.values() for name in taken} - {"type"}
    promised = [
        f"nest up to {bounds.MAX_SCHEMA_DEPTH} deep",
        f"at most {bounds.MAX_FIELDS} of them",
        f"at most {bounds.MAX_INDEXES} indexes",
        f"at most {bounds.MAX_ENUM} |",
        f"at most {bounds.MAX_PATTERN} characters",
        f"at most {MAX_MATCHES} items in all",
        f"has {CHANGE_SECONDS} seconds",
    ]
    assert [promise for promise in promised if promise not in text] == []


def test_every_route_of_collections_is_documented() -> None:
    routes = {
        f"{method} {route.path}" for route in ROUTES if isinstance(route, Route) for method in route.methods or ()
    }
    wanted = {route for route in routes if "/api/collections" in route and not route.startswith("HEAD")}
    assert set(first_cells("docs/schemas.md", "[A-Z]+ /.*")) == wanted


@pytest.mark.parametrize(
    "page", ["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
)
def test_every_link_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text())
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []
