"""The app docs/examples/react: it is typed by its project's types, and two members see the board change in strict mode."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.chromium import launched, needs_chromium
from tests.served.browser import EXAMPLES, PATIENCE_MS, file_server, window
from tests.served.clients.conftest import MakeProject
from tests.served.clients.table import CLIENTS, Project
from tests.served.packages import NODE_MODULES, SOURCE, needs_packages, run

pytestmark = [needs_packages, needs_chromium]
START, GUIDE = ((CLIENTS.parent / "docs" / page).read_text() for page in ("start.md", "guides/react.md"))
ENVIRONMENT = "interface ImportMeta { readonly env: Record<string, string> }\n"
# The compiler's options are those of Vite's template.
OPTIONS = (
    *("--noEmit", "--strict", "--jsx", "react-jsx", "--module", "esnext", "--moduleResolution", "bundler"),
    *("--target", "es2023", "--lib", "es2023,dom", "--types", "", "--skipLibCheck", "--verbatimModuleSyntax"),
    *("--noUnusedLocals", "--noUnusedParameters", "--erasableSyntaxOnly"),
)
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    """The collection, the rules and the members of the board of docs/start.md."""
    made = make_project("react")
    block = re.search(r"```yaml\n(project:.*?)```", START, re.DOTALL)
    assert block is not None
    board = yaml.safe_load(block[1])
    with httpx2.Client(base_url=made.url, headers={"x-api-key": made.secret_key}) as server:
        cards = {"name": "cards", "realtime": True, "schema": board["collections"]["cards"]["schema"]}
        server.post("/api/collections", json=cards).raise_for_status()
        server.put("/api/rules", json=board["rules"]).raise_for_status()
        for row in board["users"][0]["rows"]:
            user = {name: row[name] for name in ("email", "password", "roles")}
            server.post("/auth-collections/users", json=user).raise_for_status()
    return made


@pytest.fixture(scope="module")
def app(node: str, package: Path, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app with the types that the package's command writes, as the guide says."""
    folder = tmp_path_factory.mktemp("react")
    shutil.copytree(EXAMPLES / "react/src", folder / "src")
    modules = folder / "node_modules"
    (modules / "@auth-collections").mkdir(parents=True)
    (modules / "@auth-collections/client").symlink_to(package)
    for name in ("react", "react-dom", "scheduler", "csstype", "@types"):
        (modules / name).symlink_to(NODE_MODULES / name)
    (folder / "src/env.d.ts").write_text(ENVIRONMENT)
    keys = {"AUTH_COLLECTIONS_URL": project.url, "AUTH_COLLECTIONS_KEY": project.secret_key}
    assert "auth-collections-types --view users --out src/schema.ts" in GUIDE
    command = SOURCE / "bin/auth-collections-types.js"
    for_guests = run(folder, node, command, **keys | {"AUTH_COLLECTIONS_KEY": project.publishable_key})
    assert "Use the secret key, with --view users" in for_guests
    run(folder, node, command, "--view", "users", "--out", "src/schema.ts", **keys)
    return folder


@pytest.fixture(scope="module")
def site(app: Path, project: Project) -> Iterator[str]:
    values = {"VITE_URL": project.url, "VITE_PUBLISHABLE_KEY": project.publishable_key}
    defined = f"--define:import.meta.env={json.dumps(values)}"
    options = ("--bundle", "--splitting", "--format=esm", "--jsx=automatic", f"--outdir={app / 'dist'}")
    run(
        app,
        NODE_MODULES / ".bin/esbuild",
        "src/main.tsx",
        *options,
        '--define:process.env.NODE_ENV="development"',
        defined,
    )
    page = '<!doctype html><link rel="icon" href="data:"><div id="root"></div><script type="module" src="main.js"></script>'
    (app / "dist/index.html").write_text(page)
    with file_server(app / "dist") as url:
        yield url


def test_the_app_is_typed(node: str, app: Path) -> None:
    files = [f"src/{name}" for name in ("main.tsx", "App.tsx", "hooks.ts", "service.ts", "env.d.ts")]
    run(app, node, NODE_MODULES / "typescript-7/bin/tsc", *OPTIONS, *files)
    (app / "src/wrong.ts").write_text(
        'import { useLive } from "./hooks.js";\nuseLive("cards", { where: { txt_eq: "x" } });\n'
    )
    with pytest.raises(AssertionError, match="txt_eq"):
        run(app, node, NODE_MODULES / "typescript-7/bin/tsc", *OPTIONS, "src/wrong.ts", "src/env.d.ts")


def sign_in(page: Page, site: str, email: str) -> None:
    page.goto(site)
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("status")).to_have_text("live")


def test_two_members_share_a_board_in_strict_mode(site: str) -> None:
    with launched() as browser, window(browser) as ann, window(browser) as ben:
        sign_in(ann, site, "ann@example.com")
        sign_in(ben, site, "ben@example.com")
        ann.get_by_label("New card").fill("Light the candles")
        ann.get_by_role("button", name="Add").click()
        ben.get_by_label("Light the candles").click()
        expect(ann.get_by_label("Light the candles")).to_be_checked()
        ben.get_by_role("button", name="Delete").click()
        expect(ben.get_by_role("alert")).to_have_text("The project's rules do not allow this")
        ann.reload()
        expect(ann.get_by_label("Light the candles")).to_be_checked()
        ann.get_by_role("button", name="Delete").click()
        expect(ben.get_by_role("listitem")).to_have_count(0)
        ann.get_by_role("button", name="Sign out").click()
        expect(ann.get_by_role("button", name="Sign in")).to_be_visible()
