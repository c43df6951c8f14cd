"""The TypeScript client runs the conformance table against a live service, from Node and from a page in Chromium."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

from tests.chromium import launched, needs_chromium
from tests.served.browser import EXAMPLES, file_server
from tests.served.clients.conftest import MakeProject
from tests.served.clients.table import CALLS, judge, run_table
from tests.served.packages import needs_packages, run

pytestmark = needs_packages
# A page holds no secret key: the calls of servers are made by a process of Node.
RUN = """async ([config, calls]) => {
  const {makeRunner} = await import("./test/runner.js");
  const runner = makeRunner(config, async (entry) => JSON.parse(await callServer(JSON.stringify(entry))));
  const reports = [];
  for (const entry of calls) reports.push(await runner.runEntry(entry));
  runner.close();
  return reports;
}"""


def test_the_table_holds_in_node(node: str, package: Path, make_project: MakeProject) -> None:
    run_table([node, "--experimental-websocket", package / "test/conformance.js"], make_project("table-node"))


def test_the_script_of_a_report_counts_and_exports(node: str, package: Path, make_project: MakeProject) -> None:
    project = make_project("table-report")
    with httpx2.Client(base_url=project.url, headers={"x-api-key": project.secret_key}) as server:
        for born in (1802, 1840, 1840):
            data = {"name": f"Author of {born}", "born": born}
            server.post("/api/collections/authors/documents", json={"data": data}).raise_for_status()
    shutil.copy(EXAMPLES / "report.mjs", package)
    keys = {"URL": project.url, "API_KEY": project.secret_key, "PATH": os.environ["PATH"]}
    printed = run(package, node, "report.mjs", "authors", "born", **keys)
    assert printed.splitlines() == ["3 in authors", "2 \N{MULTIPLICATION SIGN} 1840", "1 \N{MULTIPLICATION SIGN} 1802"]
    assert len((package / "authors.csv").read_text().splitlines()) == 4
    with pytest.raises(AssertionError, match="collection_not_found"):
        run(package, node, "report.mjs", "nothing", "born", **keys)


@pytest.mark.parametrize("runtime", [("deno", "run", "-A"), ("bun",)], ids=("deno", "bun"))
def test_the_table_holds_in_other_runtimes(runtime: tuple[str, ...], package: Path, make_project: MakeProject) -> None:
    name, *options = runtime
    command = shutil.which(name)
    if command is None:
        pytest.skip(f"{name} is not on the PATH (npm install {name})")
    run_table([command, *options, package / "test/conformance.js"], make_project(f"table-{name}"))


def test_k20_a_live_list_that_is_cut_misses_nothing(node: str, package: Path, make_project: MakeProject) -> None:
    config = json.dumps(make_project("table-live").config())
    assert run(package, node, "--experimental-websocket", "test/live.js", config).endswith("done\n")


@needs_chromium
def test_the_table_holds_in_a_page(node: str, package: Path, make_project: MakeProject) -> None:
    config = make_project("table-page").config()
    command: list[str | Path] = [node, package / "test/conformance.js", json.dumps(config), "--serve"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603
        file_server(package) as pages,
        launched() as browser,
    ):
        questions, answers = server.stdin, server.stdout
        assert questions is not None
        assert answers is not None

        def call_server(entry: str, questions: IO[str] = questions, answers: IO[str] = answers) -> str:
            questions.write(f"{entry}\n")
            questions.flush()
            return answers.readline()

        page = browser.new_page()
        page.set_default_timeout(0)
        page.expose_function("callServer", call_server)
        page.goto(pages)
        reports: list[dict[str, Any]] = page.evaluate(RUN, [config, json.loads(CALLS.read_text())["calls"]])
        page.close()
        questions.close()
    judge(reports)
