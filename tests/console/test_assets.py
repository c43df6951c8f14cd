"""The console's page and files over HTTP: their headers, their caches, their versions, and the types of the scripts."""

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import httpx2
import orjson
import pytest
from starlette.applications import Starlette

from service.services import Services
from service.settings import Settings
from service.web.console.assets import find_modules, read_console
from service.web.openapi.document import ADMIN, build_document
from service.web.routes import ADMIN_ROUTES

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "service/web/console/static"
GENERATORS = HERE.parents[1] / ".generators"
NODE_MODULES = GENERATORS / "console/node_modules"
needs_types = pytest.mark.skipif(not NODE_MODULES.exists(), reason="scripts/setup dev installs the types where npm is")
LINES = [line.split() for line in (STATIC / "VENDORED").read_text().splitlines()]
PACKAGES = {line[0]: line[1:] for line in LINES if len(line) == 3}
SUMS = {line[1]: line[0] for line in LINES if len(line) == 2}


async def test_the_page_runs_its_own_scripts_alone(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/console/")
    modules = re.search('<script type="importmap">(.*)</script>', answer.text)
    assert modules
    digest = hashlib.sha256(modules[1].encode()).digest()
    policy = answer.headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{base64.b64encode(digest).decode()}';" in policy
    for part in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in answer.headers["permissions-policy"]
    assert answer.headers["cache-control"] == "no-cache"
    again = await http.get("/console/", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_the_address_without_a_slash_leads_to_the_page(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/console", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, "console/")


async def test_each_file_of_the_page_is_there_for_ever(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/console/")).text
    named = re.findall(r'"\./(a/[^"]+)"', page)
    assert len(named) > 15
    for path in named:
        answer = await http.get(f"/console/{path}", headers={"accept-encoding": "gzip"})
        assert answer.status_code == 200, path
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        body = (STATIC / path.split("/", 2)[2]).read_bytes()
        assert answer.content == body
        plain = await http.get(f"/console/{path}", headers={"accept-encoding": "identity"})
        assert plain.content == body
        assert "content-encoding" not in plain.headers


def test_the_page_names_the_modules_that_the_first_one_imports() -> None:
    """A browser asks for all of them at once; those of dynamic imports come when they are needed."""
    found = find_modules(read_console().assets)
    assert found[0] == "app/main.js"
    assert {"app/shell.js", "vendor/signals-core.mjs"} <= set(found)
    assert not {"pages/join.js", "parts/enrolment.js", "vendor/lean-qr.mjs"} & set(found)
    page = read_console().page.decode()
    assert re.findall(f'rel="modulepreload" href="./a/{read_console().version}/([^"]+)"', page) == found


@pytest.mark.parametrize(
    "path", ["a/0000000000000000/app/main.js", "a/{}/app/none.js", "a/{}/../index.html", "a/{}/app/"]
)
async def test_other_files_are_not_found(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.get(f"/console/{path.format(read_console().version)}")
    assert answer.status_code == 404


def test_pictures_come_from_the_origin_of_files() -> None:
    """A deployment whose files have another origin shows them; no other origin is allowed."""
    console = read_console()
    assert console.allow_pictures("") == console.policy
    settings = Settings(storage_url="https://files.example.com/deep/path", secret_key=None)
    policy = console.allow_pictures(settings.pictures_origin)
    assert "img-src 'self' https://files.example.com blob: data:;" in policy
    assert policy.count("example.com") == 1


async def test_without_a_console_its_paths_are_unknown_ones(http: httpx2.AsyncClient, services: Services) -> None:
    unknown = await http.get("/nowhere")
    links = (await http.get("/")).json()["links"]
    assert links[0]["path"] == "/console/"
    object.__setattr__(services.operators.rules, "has_console", False)
    try:
        for path in ("/console", "/console/", f"/console/a/{read_console().version}/app/main.js"):
            answer = await http.get(path)
            assert (answer.status_code, answer.content) == (404, unknown.content)
        assert "/console/" not in [link["path"] for link in (await http.get("/")).json()["links"]]
    finally:
        object.__setattr__(services.operators.rules, "has_console", True)


def test_c20_vendored_files_are_those_of_their_packages() -> None:
    found = {
        f"vendor/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in (STATIC / "vendor").iterdir()
    }
    assert found == SUMS
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    shared = {
        name.removeprefix("node_modules/"): [each["version"], each["integrity"]]
        for name, each in locked.items()
        if name
    }
    checked = {name for name in PACKAGES if name in shared}
    assert checked == {"preact", "@preact/signals", "@preact/signals-core", "htm", "lean-qr"}
    for name in checked:
        assert PACKAGES[name] == shared[name]


def test_everything_together_is_within_its_budget() -> None:
    """A test in Chromium holds the first view."""
    sent = {path: len(asset.packed or asset.body) for path, asset in read_console().assets.items()}
    assert sum(sent.values()) <= 330_000
    assert max(size for path, size in sent.items() if path.startswith("pages/")) <= 40_000


def test_packed_files_are_the_same() -> None:
    for asset in read_console().assets.values():
        assert asset.packed is None or gzip.decompress(asset.packed) == asset.body


def test_no_file_carries_a_style_or_makes_markup_of_text() -> None:
    for path in STATIC.glob("*/*.js"):
        text = path.read_text()
        assert not re.search(r"\bstyle=|innerHTML|dangerouslySet|\bsrcdoc\b|\beval\(", text), path.name


@pytest.fixture(scope="module")
def admin_types() -> None:
    """Makes the types of the Admin API's document again where it has changed."""
    document = orjson.dumps(build_document(ADMIN_ROUTES, ADMIN))
    known, types = GENERATORS / "console/admin.json", GENERATORS / "console/admin.d.ts"
    if types.exists() and known.exists() and known.read_bytes() == document:
        return
    known.write_bytes(document)
    run_node(str(GENERATORS / "node_modules/openapi-typescript/bin/cli.js"), str(known), "--output", str(types))


def run_node(*arguments: str) -> tuple[str, int]:
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run([node, *arguments], stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    return done.stdout, done.returncode


@needs_types
def test_bodies_and_answers_of_the_scripts_are_those_of_the_admin_api(admin_types: None, tmp_path: Path) -> None:
    """The types of all scripts hold, and a script with names that the document does not have is found."""
    script = """import { call } from "STATIC/app/api.js";
import { pathOf } from "STATIC/app/collections.js";
const usage = await call(`${pathOf("shop")}/usage`);
console.log(usage.steps[0]?.requests, usage.steps[0]?.inquiries);
await call(`${pathOf("shop")}/settings`, { method: "PATCH", body: { sittings: {} } });
"""
    (tmp_path / "script.js").write_text(script.replace("STATIC", str(STATIC)))
    options = json.loads((HERE / "tsconfig.json").read_text())["compilerOptions"]
    paths = {name: [str((HERE / path).resolve()) for path in each] for name, each in options["paths"].items()}
    config = {"compilerOptions": options | {"paths": paths}, "include": ["script.js", f"{STATIC}/*/*.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    found, _ = run_node(str(NODE_MODULES / "typescript/bin/tsc"), "--project", str(tmp_path / "tsconfig.json"))
    errors = [line for line in found.splitlines() if "error TS" in line]
    assert [line for line in errors if not re.search(r"script\.js\((4|5),.*'(inquiries|sittings)'", line)] == []
    assert len(errors) == 2


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (HERE / "package-lock.json").read_text()


def test_the_app_is_that_of_the_service(running_app: Starlette) -> None:
    assert [route.path for route in running_app.routes if route.path.startswith("/console")] == [  # type: ignore[attr-defined]
        "/console",
        "/console/",
        "/console/a/{version}/{folder}/{name}",
    ]
