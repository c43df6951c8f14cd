"""Compilers take the generated text of any schema, and the types say what the service answers."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from service.contract.model import Contract
from service.contract.python import write_python
from service.contract.typescript import write_typescript
from service.errors import Invalid
from service.schema.fields import parse
from tests.contract.declared import GOLDEN, NAMES, Schemas, declared, golden

ROOT = Path(__file__).parents[2]
TSC = ROOT / ".generators/node_modules/typescript/bin/tsc"
# The native compiler takes a tenth of the time, so it is given the many texts; the other one is given the golden ones.
NATIVE_TSC = ROOT / "clients/typescript/node_modules/typescript-7/bin/tsc"
needs_compilers = pytest.mark.skipif(
    not (TSC.exists() and NATIVE_TSC.exists()), reason="scripts/setup dev installs the compilers where npm is"
)
LIBRARY = Path(__file__).parent / "python_library/library.py.txt"
# Names that a text could break at, beside ordinary ones.
HARD = [
    "*/ import x",
    '"]; exit(7) //',
    "`${exit(7)}`",
    "\\",
    "'",
    "__proto__",
    "class",
    "None",
    "and",
    "x_eq",
    "data",
    "id",
]
NAMES_OF_FIELDS = st.one_of(
    st.sampled_from([*HARD, "\u2028", "\u202e", "\ufeff", "a b", "a_b", "名", "🙂", "\u009b"]),
    st.text("abXY_0 -", min_size=1, max_size=4),
)
COLLECTIONS = st.sampled_from(
    ["my-books", "my_books", "Books", "books", "new-books", "schema", "any", "none", "record", "id"]
)
TEXT = st.one_of(st.sampled_from(HARD), st.text(st.characters(codec="utf-8"), max_size=4))
PLAIN = st.sampled_from(["string", "integer", "number", "boolean", "datetime", "any", "object", "array"])


@st.composite
def plain(draw: st.DrawFn) -> dict[str, Any]:
    return {"type": draw(PLAIN)}


@st.composite
def enums(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["string", "integer", "number"]))
    numbers = st.one_of(st.integers(-(2**62), 2**62), st.floats(-1e30, 1e30))
    values = {"string": TEXT, "integer": st.integers(-(2**62), 2**62), "number": numbers}[kind]
    return {"type": kind, "enum": draw(st.lists(values, min_size=1, max_size=4, unique=True))}


def nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(NAMES_OF_FIELDS, with_options(inner), max_size=4)
    objects = st.fixed_dictionaries({"type": st.just("object"), "properties": properties})
    arrays = st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    return objects | arrays


@st.composite
def with_options(draw: st.DrawFn, definitions: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    found = dict(draw(definitions))
    if draw(st.booleans()):
        found["required"] = True
    if draw(st.booleans()) and found["type"] not in {"any", "file"}:
        found["nullable"] = True
    return found


DEFINITIONS = with_options(st.recursive(plain() | enums(), nested, max_leaves=5))
FILES = with_options(st.sampled_from([{"type": "file"}, {"type": "file", "variants": {"t-1": {"width": 9}}}]))


@st.composite
def schemas(draw: st.DrawFn) -> Schemas:
    """Some collections that refer to one another, to themselves and to users."""
    names = draw(st.lists(COLLECTIONS, min_size=1, max_size=4, unique=True))
    found: Schemas = {}
    for name in names:
        fields = draw(st.dictionaries(NAMES_OF_FIELDS, DEFINITIONS | FILES, max_size=6))
        for relation in draw(st.lists(NAMES_OF_FIELDS, max_size=3, unique=True)):
            target = draw(st.sampled_from([*names, "users"]))
            if relation not in fields and f"{relation}_id" not in fields:
                fields[f"{relation}_id"] = {"type": "reference", "collection": target}
        found[name] = {each: definition for each, definition in fields.items() if is_good({each: definition})}
    return found


def is_good(schema: dict[str, Any]) -> bool:
    try:
        parse(schema)
    except Invalid:
        return False
    return True


def check_typescript(folder: Path, contracts: list[Contract], compiler: Path) -> None:
    library = folder / "node_modules/@auth-collections/client"
    library.mkdir(parents=True)
    for each in (GOLDEN / "library").iterdir():
        shutil.copy(each, library)
    (library / "package.json").write_text(
        '{"name": "@auth-collections/client", "type": "module", "types": "index.d.ts"}'
    )
    for number, contract in enumerate(contracts):
        (folder / f"schema{number}.ts").write_text(write_typescript(contract).text)
    options = ["--strict", "--noEmit", "--noUnusedLocals", "--verbatimModuleSyntax", "--exactOptionalPropertyTypes"]
    modules = ["--module", "nodenext", "--target", "es2022", "--skipLibCheck"]
    (folder / "package.json").write_text('{"type": "module"}')
    run(
        folder, [shutil.which("node"), compiler, *options, *modules, *(path.name for path in folder.glob("schema*.ts"))]
    )


def check_python(folder: Path, contracts: list[Contract]) -> None:
    shutil.copy(LIBRARY, folder / "auth_collections_client.py")
    for number, contract in enumerate(contracts):
        (folder / f"schema{number}.py").write_text(write_python(contract).text)
    modules = [f"schema{number}" for number in range(len(contracts))]
    # The texts are data: to run them defines names, and does nothing else.
    run(folder, [ROOT / ".venv/bin/python", "-W", "error", "-c", f"import {', '.join(modules)}"])
    options = ["--strict", "--config-file", "", "--cache-dir", "cache", "--no-error-summary"]
    run(folder, [ROOT / ".venv/bin/python", "-m", "mypy", *options, *(f"{each}.py" for each in modules)])


def run(folder: Path, command: list[Any]) -> None:
    done = subprocess.run(  # noqa: S603 - commands of these tests
        [str(each) for each in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def goldens() -> list[Contract]:
    return [*map(golden, NAMES)]


def draw_many(number: int) -> list[Contract]:
    """Contracts of so many schemas, the same in each run: compilers take seconds for a run, so they are given all at once."""
    found: list[Contract] = []

    @settings(max_examples=number, deadline=None, database=None, phases=[Phase.generate], derandomize=True)
    @given(schemas())
    def draw(each: Schemas) -> None:
        found.append(declared(each))

    draw()
    return [*found, *goldens()]


@needs_compilers
def test_k1_any_schema_makes_typescript_that_compiles(tmp_path: Path) -> None:
    check_typescript(tmp_path, draw_many(100), NATIVE_TSC)


@needs_compilers
def test_the_golden_texts_compile_with_the_compiler_before(tmp_path: Path) -> None:
    check_typescript(tmp_path, goldens(), TSC)


def test_k1_any_schema_makes_python_that_runs_and_passes_mypy(tmp_path: Path) -> None:
    check_python(tmp_path, draw_many(100))
