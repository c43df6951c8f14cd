"""The manifest: what a seed file may say. A mistake is one line with the file, the path in it, and what to change."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from service.errors import ConfigurationError
from service.schema.collection_options import OPTION_NAMES
from service.schema.strict_json import INT64_MAX, INT64_MIN, NotJson, shown

MAX_MANIFEST_BYTES = 16 * 1024 * 1024
MAX_NUMBER = 100

Read = TypeVar("Read", bound="Section")
Name = Annotated[str, Field(min_length=1)]
CellType = Literal["string", "integer", "number", "boolean", "datetime", "json"]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProjectPart(Section):
    """The project. `settings` are those of `auth-collections project set`, by their names in capitals."""

    id: Name
    name: Name
    settings: dict[str, str | int | bool] = {}


class Source(Section):
    """The origin of rows: `rows` in the manifest, or a `file` beside it, .json, .jsonl or .csv.

    `fields` maps a field to the column, or the dotted path, it is taken from; without it a row is taken as it is.
    `types` gives the types of values, above all of the cells of a CSV file. `references` maps a field to the record its
    value names: `users` by e-mail, or `<collection>.<field>` by the value of that field.
    """

    rows: tuple[dict[str, Any], ...] | None = None
    file: Path | None = None
    fields: dict[Name, Name] | None = None
    types: dict[Name, CellType] = {}
    references: dict[Name, Annotated[str, Field(pattern=r"^(users|[A-Za-z][A-Za-z0-9_-]{0,62}\..+)$")]] = {}

    @model_validator(mode="after")
    def _has_one_origin(self) -> "Source":
        if (self.rows is None) == (self.file is None):
            raise ValueError("give either rows or a file")
        if self.file is not None and self.file.suffix not in {".json", ".jsonl", ".csv"}:
            raise ValueError("file must end in .json, .jsonl or .csv")
        return self


class DocumentSource(Source):
    """Rows of a collection. `key` are the fields that tell one document from another, the most telling one first."""

    key: Annotated[tuple[Name, ...], Field(min_length=1)]


class SchemaPart(Section):
    """A declared collection, as POST /api/collections takes it.

    A collection that is there keeps those of its options that are left out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_alias=True)

    declared: dict[str, Any] = Field(alias="schema")
    realtime: bool | None = None
    unique: tuple[tuple[Name, ...], ...] | None = None
    indexes: tuple[tuple[Name, ...], ...] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that are declared."""
        found = {name: getattr(self, name) for name in OPTION_NAMES}
        return {name: value for name, value in found.items() if value is not None}


class SchemaFile(Section):
    """The collections of a file of `auth-collections schema`, as a manifest has them, without documents."""

    collections: dict[Name, SchemaPart]


class CollectionPart(SchemaPart):
    """A declared collection and its documents."""

    documents: tuple[DocumentSource, ...] = ()


class ProfilePart(Section):
    """The schema of users' profiles, the body of PUT /auth-collections/schema."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_alias=True)

    declared: dict[str, Any] = Field(alias="schema")
    additional: bool = True


class SeedFile(Section):
    """A file on disk for the field of a user, as an upload would put it there."""

    user: Name
    field: Name
    path: Path


class SeedManifest(Section):
    """A whole seed file. The schema of profiles comes first, then users, their files, collections in the order in which
    they stand, the rules, and saved aggregations, each the body of PUT /api/aggregations/{name}.

    `rules` is the body of PUT /api/rules, or the path of a file with it; `rule_indexes: true` builds the
    indexes that the rules need.
    """

    project: ProjectPart
    profile: ProfilePart | None = None
    users: tuple[Source, ...] = ()
    files: tuple[SeedFile, ...] = ()
    collections: dict[Name, CollectionPart] = {}
    rules: dict[str, Any] | Path | None = None
    rule_indexes: bool = False
    aggregations: dict[Name, dict[str, Any]] = {}

    @field_validator("rules", mode="plain")
    @classmethod
    def _has_rules(cls, value: Any) -> dict[str, Any] | Path:
        if isinstance(value, str) and value:
            return Path(value)
        if not isinstance(value, dict):
            raise ValueError("must be the body of PUT /api/rules, or the path of a file with it")
        return value


def read_manifest(path: Path) -> SeedManifest:
    """The manifest at `path`, YAML or JSON. Raises ConfigurationError: '<file>: <path in it>: <what to change>'."""
    return _read(SeedManifest, path, read_yaml(path))


def read_profile_file(path: Path) -> ProfilePart:
    """The schema of profiles, of a manifest or as PUT /auth-collections/schema takes it. Raises as `read_manifest`."""
    value = read_yaml(path)
    if not isinstance(value, dict) or "project" not in value:
        return _read(ProfilePart, path, value)
    found = _read(SeedManifest, path, value).profile
    if found is None:
        raise ConfigurationError(f"{path}: profile: the manifest declares none")
    return found


def read_schema_file(path: Path) -> Mapping[str, SchemaPart]:
    """Collection → its declaration, of a manifest or of a file with `collections` alone. Raises as `read_manifest`."""
    value = read_yaml(path)
    if isinstance(value, dict) and "project" in value:
        return _read(SeedManifest, path, value).collections
    return _read(SchemaFile, path, value).collections


def _read(model: type[Read], path: Path, value: Any) -> Read:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        msg = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"{path}: {place or 'manifest'}: {msg}") from None


def read_yaml(path: Path) -> Any:
    """The content of the YAML or JSON at `path`. Raises ConfigurationError: '<file>: <what to change>'."""
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise ConfigurationError(f"{path}: larger than 16 MiB; put the rows into files beside it")
        return yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506 - derived from the safe loader
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: not valid YAML: nested too deeply") from None
    except (yaml.YAMLError, ValueError, LookupError) as error:
        raise ConfigurationError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


class _Loader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, less what JSON does not have, and what surprises.

    Dates, `on` and `no` stay text; names are text, and none occurs twice; numbers are those of BSON; there is no tag but
    those of JSON's types.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if repeated := next((name for name, times in names.items() if times > 1), None):
            raise NotJson(f"{shown(repeated)} occurs twice{node.start_mark}")
        mapping = super().construct_mapping(node, deep)
        if odd := next((name for name in mapping if not isinstance(name, str)), None):
            raise NotJson(f"a name must be text, which {shown(str(odd))} is not; put quotes around it{node.start_mark}")
        return mapping

    def construct_yaml_str(self, node: yaml.ScalarNode) -> str:
        text = super().construct_yaml_str(node)
        try:
            # A manifest in JSON writes characters past U+FFFF as a pair of escapes, which YAML leaves as they are.
            return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise NotJson(f"an unpaired surrogate is not a character{node.start_mark}") from None

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        # Python converts no text of more than 4,300 digits; 64 bits have at most 64 digits and a prefix.
        number = super().construct_yaml_int(node) if len(node.value) <= MAX_NUMBER else INT64_MAX + 1
        if not INT64_MIN <= number <= INT64_MAX:
            raise NotJson(f"an integer must have at most 64 bits{node.start_mark}")
        return number

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        number = super().construct_yaml_float(node)
        if not math.isfinite(number):
            raise NotJson(f"a number must be between -1.8e308 and 1.8e308{node.start_mark}")
        return number


def _refuse_tag(_loader: _Loader, node: yaml.Node) -> NoReturn:
    raise NotJson(f"{node.tag.rpartition(':')[2]} is no type of JSON{node.start_mark}")


_Loader.yaml_constructors = {
    f"tag:yaml.org,2002:{name}": getattr(_Loader, f"construct_yaml_{name}")
    for name in ("null", "bool", "int", "float", "str", "seq", "map")
} | {None: _refuse_tag}
_REPLACED = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
