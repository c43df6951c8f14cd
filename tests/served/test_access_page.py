"""The first rule of docs/access.md, copied from the page into a shell."""

import json
import os
import re
import subprocess

from faults.rule_examples import PAGE
from service.cli.running import run_on
from service.settings import Settings
from tests.served.conftest import Served
from tests.test_readme import STRICT

FIRST_RULE = re.compile(r"^## The first rule\n.*?^```\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_first_rule_works_as_printed(served: Served, served_settings: dict[str, str]) -> None:
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    _, keys = run_on(settings, lambda services: services.base.admin.create("First", "first", {}))
    printed = FIRST_RULE.search(PAGE.read_text())
    assert printed
    ran = subprocess.run(  # noqa: S603
        ["bash", "-c", STRICT + printed[1]],  # noqa: S607 - the reader's own shell
        env={**os.environ, "URL": served.base_url, "API_KEY": keys.secret, "PUBLISHABLE_KEY": keys.publishable},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    listed, _ = json.JSONDecoder().raw_decode(ran.stdout[ran.stdout.rindex('{"documents"') :])
    assert [document["data"]["text"] for document in listed["documents"]] == ["mine"]
