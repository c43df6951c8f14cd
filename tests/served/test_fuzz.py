"""Requests that the OpenAPI document allows, and requests that it forbids, made up by the hundred."""

import os
import tomllib
from pathlib import Path

import pytest

from service.web.collections.endpoints import CHANGE_ANSWER_SECONDS
from tests.served.conftest import METRICS_TOKEN, PROJECT_ID, Served
from tests.served.fuzz import fuzz

# For each endpoint. `scripts/fuzz_api` asks for more, and for others each time; here a run finds what the last one found.
EXAMPLES = os.environ.get("API_FUZZ_EXAMPLES")
MADE_UP = ("--max-examples", EXAMPLES) if EXAMPLES else ("--max-examples", "5", "--seed", "1")


@pytest.mark.parametrize("config", ["schemathesis.toml", "stateful.toml"])
def test_the_fuzzer_waits_longer_than_the_service_lets_anyone_wait(config: str) -> None:
    given = tomllib.loads(Path(__file__).with_name(config).read_text())
    assert given["request-timeout"] > CHANGE_ANSWER_SECONDS


@pytest.mark.parametrize(
    ("config", "phases"), [("schemathesis.toml", "examples,coverage,fuzzing"), ("stateful.toml", "stateful")]
)
def test_schemathesis_finds_nothing(served: Served, tmp_path: Path, config: str, phases: str) -> None:
    environment = {
        "FUZZ_API_KEY": served.api_key,
        "FUZZ_TOKEN": served.token,
        "FUZZ_SPARE_TOKEN": served.spare_token,
        "FUZZ_METRICS_TOKEN": METRICS_TOKEN,
        "FUZZ_PROJECT_ID": PROJECT_ID,
        "FUZZ_DOCUMENT_ID": served.document_id,
        "FUZZ_FILE_NAME": served.file_name,
        "FUZZ_OTHER_ID": served.other_id,
    }
    status, report = fuzz(served.base_url, environment, tmp_path, config, "--phases", phases, *MADE_UP)
    assert status == 0, report
