"""The client's types on generated schemas: compilers take them, find mistakes at their place, and do bounded work."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from service.contract.typescript import write_typescript
from tests.contract.declared import GOLDEN, declared
from tests.served.clients.table import CLIENTS
from tests.served.packages import NODE_MODULES, needs_packages, run

pytestmark = needs_packages
KINDS = ("string", "integer", "number", "boolean", "datetime")
MAX_INSTANTIATIONS = 250_000
OPTIONS = (
    *("--strict", "--noEmit", "--noUnusedLocals", "--verbatimModuleSyntax", "--extendedDiagnostics"),
    *("--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,dom.iterable,dom.asynciterable"),
)
CALLS = """{{
await ac.collection("c{n}").list({{ where: {{ f0_icontains: "a", f1_gte: 1, r0: {{ f0_eq: "x", r1: {{ f1_lt: 3 }} }} }} }});
await ac.collection("c{n}").list({{ populate: ["r0", "r1.r2"], fields: ["f0", "r0.f1"], sort_by: ["-f1", "created_at"] }});
const some = {{ where: {{ or: [{{ f3_eq: true }}, {{ not: {{ f1_in: [1, 2] }} }}] }} }};
for await (const each of ac.collection("c{n}").each(some)) each.data.f0;
(await ac.collection("c{n}").get("x", {{ populate: ["r0"] }})).data.r0?.data.f0.length;
(await ac.collection("c{n}").get("x", {{ with_counts: ["c{m}.r0"] }})).counts["c{m}.r0"].toFixed();
await ac.collection("c{n}").create({{ f0: "a", r0_id: "x" }});
await ac.collection("c{n}").update("x", {{ data: {{ f2: 2 }}, increment: {{ f1: 1 }}, where: {{ f1_gte: 1 }} }});
}}
"""
HEAD = """import {{ createClient }} from "@auth-collections/client";
import type {{ Schema }} from "./{module}.js";
const ac = createClient<Schema>({{ url: "https://api.example.com", key: "acp_x" }});
"""
# Each line is a mistake, and what the compiler must name.
MISTAKES = {
    'await books.list({ where: { titel_eq: "x" } });': "titel_eq",
    "await books.list({ where: { title_eq: 1 } });": "number",
    'await books.list({ where: { status_eq: "lost" } });': "lost",
    'await books.list({ where: { owner: { emial_eq: "x" } }, populate: ["onwer"] });': "onwer",
    'await books.list({ populate: ["owners"] });': "owners",
    'await books.list({ fields: ["titel"] });': "titel",
    'await books.list({ sort_by: "titel" });': "titel",
    'await books.upsert({ title: "x", owner_id: "u" }, { by: "status" });': "status",
    'await books.create({ title: "x" });': "NewBooks",
    'await books.create({ title: "x", owner_id: "u", extra: 1 });': "extra",
    'await books.update("x", { increment: { title: 1 } });': "title",
    'ac.collection("boks");': "boks",
    "(await books.get((await ac.auth.user()).id)).data.title;": "users",
    'await ac.users.list({ with_counts: ["boks"] });': "boks",
    '(await ac.users.get("u", { with_counts: ["books"] })).counts["books.owner"];': "books.owner",
}


@pytest.fixture
def folder(package: Path, tmp_path: Path) -> Path:
    """A folder whose programs can import the built package."""
    place = tmp_path / "node_modules/@auth-collections/client"
    place.mkdir(parents=True)
    shutil.copy(package / "package.json", place)
    shutil.copytree(package / "dist", place / "dist")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    return tmp_path


def schema_of(count: int) -> str:
    """So many collections of 20 fields, of which three refer to others."""
    fields = {f"f{at}": {"type": KINDS[at % 5], **({"required": True} if at == 0 else {})} for at in range(17)}

    def relations(number: int) -> dict[str, Any]:
        others = [f"c{(number + step) % count}" for step in (1, 7, 13)]
        return {
            f"r{at}_id": {"type": "reference", "collection": other, "required": at == 0}
            for at, other in enumerate(others)
        }

    return write_typescript(declared({f"c{number}": fields | relations(number) for number in range(count)})).text


def calls_of(count: int) -> str:
    """Calls on 50 of so many collections; the one before each refers to it by `r0`."""
    return HEAD.format(module="schema") + "".join(CALLS.format(n=n, m=(n - 1) % count) for n in range(50))


def compile_with(node: str, compiler: str, folder: Path, *files: str, strict: bool = False) -> int:
    """Compiles, and returns how many types were instantiated. Fails on an error of the compiler."""
    more = "--exactOptionalPropertyTypes" if strict else "--skipLibCheck"
    printed = run(folder, node, NODE_MODULES / compiler / "bin/tsc", *OPTIONS, more, *files)
    found = re.search(r"Instantiations:\s+([\d,]+)", printed)
    assert found, printed
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("compiler", ["typescript", "typescript-7"])
def test_300_calls_on_50_collections_take_bounded_work(node: str, folder: Path, compiler: str) -> None:
    (folder / "schema.ts").write_text(schema_of(50))
    (folder / "calls.ts").write_text(calls_of(50))
    instantiations = compile_with(node, compiler, folder, "calls.ts", strict=compiler == "typescript-7")
    assert instantiations <= MAX_INSTANTIATIONS
    # The native compiler counts as the other one does, in a tenth of the time.
    if compiler == "typescript-7":
        (folder / "schema.ts").write_text(schema_of(200))
        (folder / "calls.ts").write_text(calls_of(200))
        wide = compile_with(node, compiler, folder, "calls.ts", strict=True)
        assert wide <= 1.25 * instantiations


def test_each_mistake_is_an_error_at_its_place(node: str, folder: Path) -> None:
    shutil.copy(GOLDEN / "books.ts", folder)
    lines = [*HEAD.format(module="books").splitlines(), 'const books = ac.collection("books");', *MISTAKES]
    (folder / "wrong.ts").write_text("\n".join(lines))
    with pytest.raises(AssertionError) as caught:
        run(folder, node, NODE_MODULES / "typescript/bin/tsc", *OPTIONS, "--skipLibCheck", "wrong.ts")
    errors = re.findall(r"wrong\.ts\((\d+),\d+\): error TS\d+: (.*)", str(caught.value))
    first = {int(line): text for line, text in reversed(errors)}
    for number, (line, name) in enumerate(MISTAKES.items(), len(lines) - len(MISTAKES) + 1):
        assert number in first, line
        assert name in "".join(text for at, text in errors if int(at) == number), (line, first[number])
    assert len(first) == len(MISTAKES)


def test_the_snippets_of_the_pages_compile(node: str, folder: Path) -> None:
    blocks = re.findall(r"```ts\n(.*?)```", (CLIENTS.parent / "docs/typescript.md").read_text(), re.DOTALL)
    lines = [[line for line in block.splitlines() if not line.startswith("import ")] for block in blocks]
    imports = [line for block in blocks for line in block.splitlines() if line.startswith("import ")]
    # The first two make the client and the collection, which the others use.
    made, used = lines[:2], [["{", *block, "}"] for block in lines[2:]]
    assert len(used) == 6
    profiles = re.findall(r"```ts\n(.*?)```", (CLIENTS.parent / "docs/profiles.md").read_text(), re.DOTALL)
    assert len(profiles) == 2
    used += [["{", block, "}"] for block in profiles]
    (folder / "page.ts").write_text("\n".join(line for block in [imports, *made, *used] for line in block))
    shutil.copy(GOLDEN / "books.ts", folder / "schema.ts")
    compile_with(node, "typescript-7", folder, "--noUnusedLocals", "false", "page.ts")


MANY = """
const posts = ac.collection("posts");
const id = (await ac.collection("tags").create({ name: "a" })).id;
await posts.create({ tag_ids: [id] });
const page = await posts.list({ where: { tag_ids_hasall: [id], tags: { name_eq: "a" } }, populate: ["tags", "first.posts"] });
for (const each of page.documents) {
  const names: string[] | undefined = each.data.tags?.map((tag) => tag.data.name);
  const first: string | undefined = each.data.first?.data.name;
  void [names, first, each.data.first?.data.posts?.map((post) => post.id)];
}
const every = await posts.list({ populate: ["tags"], fields: ["tags.name"] });
every.documents[0]?.data.tags?.map((tag) => tag.data.name);
"""


def test_an_array_of_references_is_populated_as_a_list(node: str, folder: Path) -> None:
    one, many = {"type": "reference"}, {"type": "array"}
    schemas: dict[str, Any] = {
        "tags": {
            "name": {"type": "string", "required": True},
            "post_ids": many | {"items": one | {"collection": "posts"}},
        },
        "posts": {"tag_ids": many | {"items": one | {"collection": "tags"}}, "first_id": one | {"collection": "tags"}},
    }
    (folder / "schema.ts").write_text(write_typescript(declared(schemas)).text)
    (folder / "many.ts").write_text(HEAD.format(module="schema") + MANY)
    compile_with(node, "typescript-7", folder, "many.ts")


ANY = """import { createClient } from "@auth-collections/client";
import { admin } from "@auth-collections/client/admin";
import { passkeys } from "@auth-collections/client/passkeys";
import { realtime } from "@auth-collections/client/realtime";
const ac = createClient({ url: "https://api.example.com", key: "acp_x" });
const page = await ac.collection("books").list({ where: { title_eq: 1 }, populate: ["author"], fields: ["x"] });
const title: unknown = page.documents[0]?.data["title"];
const counted: number = (await ac.users.get("u", { with_counts: ["any"] })).counts.any;
await ac.collection("books").create({ title, counted, any: new Date() });
await ac.auth.login({ username: "ann" }, "b");
realtime(ac).live("books", {}, { data: (documents) => documents.length });
await passkeys(ac).login();
await admin(ac).collections.list();
const done = await ac.auth.login("a", "b");
if (done.next === null) done.user.email?.length;
else done.flow_id.length;
"""


@pytest.mark.parametrize("compiler", ["typescript-6", "typescript-7"])
def test_golden_texts_and_a_client_without_a_schema_compile(node: str, folder: Path, compiler: str) -> None:
    (folder / "any.ts").write_text(ANY)
    names = [f"{name}.ts" for name in ("books", "shop", "hostile")]
    for name in names:
        shutil.copy(GOLDEN / name, folder)
    compile_with(node, compiler, folder, "any.ts", *names, strict=compiler == "typescript-7")
