"""`scripts/docs`: writes the tables of the pages from the code, between the markers that name them.

    <!-- table: errors -->
    ...
    <!-- end of table -->

`.env.example` is written as a whole. With `--check` nothing is written, and what is stale is named.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from prometheus_client.metrics import MetricWrapperBase
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from service import errors
from service.bounds import (
    MAX_CAN_DEPTH,
    MAX_CONFLICTS,
    MAX_FIELD_CONDITIONS,
    MAX_IN,
    MAX_RELATION_DEPTH,
    MAX_ROLES,
    MAX_RULE_CONDITIONS,
    MAX_RULE_TESTS,
    MAX_SET_BYTES,
    MAX_SET_READS,
    MAX_SET_VALUES,
    MAX_SETS,
    MAX_TRANSITIONS,
    MAX_WHERE_DEPTH,
    every_bound,
)
from service.cli.main import LazyCommand, app
from service.domain.limits import policies
from service.domain.projects.providers import ProviderSettings
from service.domain.projects.settings import ProjectSettings, read_project_settings
from service.observe import metrics
from service.server.answers import REFUSALS
from service.settings import Settings
from service.web.http.render import HTTP_CODES
from service.web.openapi.endpoint import IN_PROJECT
from service.web.routes import ADMIN_ROUTES

ROOT = Path(__file__).parents[1]
TABLE = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
COSTS = ROOT / "docs/bound-costs.json"
Row = Sequence[str]

# Errors that no class of ours stands for.
OF_THE_SERVER = {
    "method_not_allowed": "The URL has other methods; `Allow` lists them",
    "request_timeout": "The headers or the body came too slowly",
    "headers_too_large": "The request headers are too large, or too many",
    "internal_error": "A fault of the service; the log has it under the request id",
    "authentication_failed": "A sign-in that ended for any other reason",
}


def project_settings() -> Iterator[Row]:
    yield "setting", "default", "values", "meaning"
    for name, field in ProjectSettings.model_fields.items():
        yield f"`{name.upper()}`", default(field), values(field), meaning(name, field)


def provider_settings() -> Iterator[Row]:
    yield "key", "values", "meaning"
    for name, field in ProviderSettings.model_fields.items():
        yield f"`{name.upper()}`", values(field), meaning(name, field)


def environment() -> Iterator[Row]:
    yield "variable", "default", "values", "meaning"
    for name, field in Settings.model_fields.items():
        yield f"`{name.upper()}`", default(field), values(field), meaning(name, field)


def default(field: FieldInfo) -> str:
    given = field.get_default(call_default_factory=True)
    return "" if given is None or given in ((), {}) else f"`{given:g}`" if isinstance(given, float) else f"`{given}`"


def values(field: FieldInfo) -> str:
    """The words that may be given, or the least and the greatest number, where the type has such."""
    words = [f"`{word}`" for kind in _alternatives(field.annotation) for word in get_args(kind)]
    ends = {name: getattr(rule, name) for rule in _rules(field) for name in ("ge", "le") if hasattr(rule, name)}
    return ", ".join(words) or ("{ge:,} to {le:,}".format(**ends) if len(ends) == 2 else "")


def _alternatives(annotation: Any) -> list[Any]:
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return [kind for kind in kinds if kind is not NoneType and get_origin(kind) is Literal]


def _rules(field: FieldInfo) -> Iterator[object]:
    for rule in field.metadata:
        yield from rule.metadata if isinstance(rule, FieldInfo) else (rule,)


def meaning(name: str, field: FieldInfo) -> str:
    if not field.description:
        raise SystemExit(f"{name.upper()} has no docstring below it that says what it means")
    return one_line(field.description)


def one_line(text: str) -> str:
    return " ".join(text.split())


def limits() -> Iterator[Row]:
    yield "limit", "counts", "setting", "default"
    usual = read_project_settings({"TIER": "enterprise"})
    found = [value for value in vars(policies).values() if isinstance(value, policies.Policy)]
    # Some differ only in what takes their place for users and guests.
    yield from dict.fromkeys(
        (f"`{policy.name}`", policy.what, _settings(policy), f"{policy.limit(usual):,}") for policy in found
    )


def _settings(policy: policies.Policy) -> str:
    return ", ".join(f"`{name}`" for name in policy.settings)


def bounds() -> Iterator[Row]:
    yield "how many", "of what", "protects", "past it", "cost at the bound"
    costs: dict[str, str] = json.loads(COSTS.read_text()) if COSTS.exists() else {}
    for bound in every_bound():
        yield f"{bound:,}", bound.what, bound.protects, coded(bound.past), costs.get(bound.what, "")


def access_bounds() -> Iterator[Row]:
    """Those that an author of access rules meets."""
    yield "how many", "of what", "past it"
    met = (
        MAX_RULE_CONDITIONS,
        MAX_FIELD_CONDITIONS,
        MAX_TRANSITIONS,
        MAX_WHERE_DEPTH,
        MAX_IN,
        MAX_RELATION_DEPTH,
        MAX_CAN_DEPTH,
    )
    for bound in (
        *met,
        MAX_SETS,
        MAX_SET_VALUES,
        MAX_SET_BYTES,
        MAX_SET_READS,
        MAX_RULE_TESTS,
        MAX_ROLES,
        MAX_CONFLICTS,
    ):
        yield f"{bound:,}", bound.what, coded(bound.past)


def coded(past: str) -> str:
    """The error's code in back quotes: 422 `validation_error`."""
    return re.sub(r"\b([a-z]+_[a-z_]+|busy|forbidden|unavailable)\b", r"`\1`", past)


def every_error() -> Iterator[tuple[int, str, str]]:
    """Status, code and the first paragraph of the docstring of all that is sent over HTTP."""
    for error in _tree(errors.ServiceError):
        if not issubclass(error, (errors.ConfigurationError, errors.RejectedByValidator)):
            yield error.status, error.code, OF_THE_SERVER.get(error.code) or _first_paragraph(error)
    refused = [(status, json.loads(body)["code"]) for status, (_, body) in REFUSALS.items()]
    for status, code in [*HTTP_CODES.items(), *refused]:
        if code in OF_THE_SERVER:
            yield status, code, OF_THE_SERVER[code]


def _tree(base: type[errors.ServiceError]) -> Iterator[type[errors.ServiceError]]:
    yield base
    for derived in base.__subclasses__():
        yield from _tree(derived)


def _first_paragraph(error: type[errors.ServiceError]) -> str:
    """Of its docstring; where it has none, what its client is told."""
    said = error.__doc__ if "__doc__" in vars(error) and error.__doc__ else error.detail
    return one_line(said.partition("\n\n")[0]).rstrip(".:")


def error_codes() -> Iterator[Row]:
    yield "status", "code", "when"
    for status, code, when in sorted(dict.fromkeys(every_error())):
        yield str(status), f"`{code}`", when


def metric_names() -> Iterator[Row]:
    yield "metric", "labels", "what"
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.describe()
            total = "_total" if family.type == "counter" else ""
            labels = ", ".join(f"`{label}`" for label in metric._labelnames)  # noqa: SLF001 - no other way to ask
            yield f"`{family.name}{total}`", labels, f"{family.type}: {family.documentation}"


def commands() -> Iterator[Row]:
    yield "command", "what it does"
    for words, command in _commands(app, ()):
        yield f"`{' '.join(['auth-collections', *words, *_parameters(command)])}`", one_line(command.help or "")


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = command.load() if isinstance(command, LazyCommand) else command
    children = getattr(command, "commands", None)
    if children is None:
        yield words, command
    else:
        for name, child in children.items():
            yield from _commands(child, (*words, name))


def _parameters(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield parameter.make_metavar(None) if not parameter.metavar else parameter.metavar
        elif parameter.opts != ["--help"]:
            value = "" if parameter.is_flag else f" {parameter.name.upper()}"
            yield f"[{parameter.opts[0]}{value}]"


def scripts() -> Iterator[Row]:
    yield "script", "what it does"
    for path in sorted((ROOT / "scripts").iterdir()):
        if path.is_file():
            yield f"`scripts/{path.name}`", path.read_text().splitlines()[1].removeprefix("# ")


def operator_rows() -> Iterator[Row]:
    """The rows of the Admin API, and the permission that each needs."""
    yield "request", "area", "level", "confirmed"
    for route in ADMIN_ROUTES:
        if (access := route.operator) is not None:
            areas = f"{access.area} or {access.other}" if access.other else access.area
            place = route.path.replace(IN_PROJECT, "P", 1)
            yield f"`{route.method} {place}`", areas, access.level, "yes" if access.confirm else ""


TABLES: dict[str, Callable[[], Iterable[Row]]] = {
    "project-settings": project_settings,
    "provider-settings": provider_settings,
    "environment": environment,
    "limits": limits,
    "bounds": bounds,
    "access-bounds": access_bounds,
    "errors": error_codes,
    "metrics": metric_names,
    "commands": commands,
    "scripts": scripts,
    "operator-rows": operator_rows,
}


def table(name: str) -> str:
    """The rows of a table in Markdown."""
    heading, *rows = [[cell.replace("|", "\\|") for cell in row] for row in TABLES[name]()]
    return "".join(f"| {' | '.join(row)} |\n" for row in [heading, ["---"] * len(heading), *rows])


def filled(text: str) -> str:
    """The page with its tables as the code has them."""
    return TABLE.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


def env_example() -> str:
    """Every variable with its default, under what it means."""
    head = "# Every variable the service reads, with its default. An empty or missing variable means the default.\n\n"
    return head + "".join(_variable(name, field) for name, field in _fields(Settings))


def _fields(model: type[BaseModel]) -> Iterable[tuple[str, FieldInfo]]:
    return model.model_fields.items()


def _variable(name: str, field: FieldInfo) -> str:
    words = values(field).replace("`", "")
    said = meaning(name, field) + (f" One of {words}." if words and not words[0].isdigit() else "")
    return f"# {said}\n{name.upper()}={default(field).strip('`')}\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Each page that has tables, and what should stand there."""
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        if TABLE.search(text := path.read_text()):
            yield path, filled(text)
    yield ROOT / ".env.example", env_example()


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/docs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where a table is stale")
    check = parser.parse_args().check
    stale = [(path, text) for path, text in pages() if path.read_text() != text]
    for path, text in stale:
        if not check:
            path.write_text(text)
        print(f"{path.relative_to(ROOT)} {'is stale: run scripts/docs' if check else 'written'}", file=sys.stderr)  # noqa: T201
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
