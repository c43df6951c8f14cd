"""What operators read: metrics, alerts, log fields, deadlines, limits and the container are as the pages say."""

import json
import re
import tomllib
from typing import Any

import yaml
from prometheus_client.metrics import MetricWrapperBase

from service import bounds
from service.bounds import MAX_FILE_BYTES, MAX_JSON_BYTES
from service.domain.limits import leases
from service.domain.limits import limiter as limits
from service.domain.lists import LIST_SECONDS
from service.domain.projects.settings import ProjectSettings
from service.observe import metrics
from service.server.timeouts import ConnectionTimeouts
from service.storage import client as mongo
from service.storage import counters
from service.web.asgi import deadlines as admission
from service.web.auth.client_address import CLIENT_PREFIX
from service.web.collections.endpoints import CHANGE_ANSWER_SECONDS
from service.web.sign_in.endpoints import PROVIDER_ANSWER_SECONDS
from tests.pages import ROOT, missing, quoted, table, text_of
from tests.test_docs import every_error

OPERATIONS = "docs/operations.md"
TIMEOUTS = ConnectionTimeouts()
MEBIBYTE = 1024 * 1024
# Words of PromQL, not of ours.
PROMQL = {"histogram_quantile"}
# How the page says it. A constant that is changed has no words until the page is changed too.
PARTS = {2: "half", 10: "a tenth"}
SPANS: dict[float, str] = {1: "a second", 3600: "an hour"}
METRICS = {
    f"{each._name}{'_total' if each._type == 'counter' else ''}": list(each._labelnames)  # noqa: SLF001
    for each in vars(metrics).values()
    if isinstance(each, MetricWrapperBase)
}


def test_every_metric_is_explained_with_its_labels() -> None:
    assert {quoted(row[0])[0]: quoted(row[1]) for row in table(OPERATIONS, "| metric |")} == METRICS


def test_alerts_ask_for_metrics_labels_and_codes_that_exist() -> None:
    codes = {error.code for error in every_error()}
    for expression in (quoted(row[1])[0] for row in table(OPERATIONS, "| alert |")):
        for name, labels in re.findall(r"([a-z]+(?:_[a-z]+)+)(?:\{([^}]*)\})?", re.sub(r'"[^"]*"', '""', expression)):
            if name not in PROMQL:
                base = re.sub("_(count|bucket)$", "", name)
                assert {*re.findall(r"(\w+)[=!]", labels)} <= {*METRICS[base], "le"}, expression
        asked = {code for each in re.findall(r'code=~?"([^"]+)"', expression) for code in re.split(r"\\?\|", each)}
        assert asked <= codes, expression


def test_a_line_of_the_log_has_the_fields_of_the_example() -> None:
    example = re.search(r"```json\n(\{.*\})\n```", (ROOT / OPERATIONS).read_text())
    assert example is not None
    source = (ROOT / "service/web/middleware.py").read_text()
    written = re.search(r"log\.info\(\"(\w+)\", (.*), \*\*_known", source)
    assert written is not None
    given = [each.partition("=")[0] for each in written.group(2).split(", ") if "=" in each]
    fields: dict[str, Any] = json.loads(example.group(1))
    assert list(fields) == [*given, "request_id", "project", "event", "level", "timestamp"]
    assert fields["event"] == written.group(1)


def test_the_deadlines_are_those_of_the_code() -> None:
    assert missing(OPERATIONS, [
        f"keep the service waiting {admission.BODY_SECONDS:.0f} s, and 1 s more for each",
        f"for each {admission.MIN_BYTES_PER_SECOND:,} bytes that came",
        f"begins within {admission.ANSWER_SECONDS:.0f} s of the last byte",
        f"a change of a schema within {CHANGE_ANSWER_SECONDS:.0f} s",
        f"a sign-in that asks the provider within {PROVIDER_ANSWER_SECONDS:.0f} s",
        f"| a JSON body, a file | {MAX_JSON_BYTES // MEBIBYTE} MiB, {MAX_FILE_BYTES // MEBIBYTE} MB |",
        f"thrown away for {TIMEOUTS.linger:.0f} s",
        f"{TIMEOUTS.headers:.0f} s before its first request, {TIMEOUTS.keep_alive} s after one",
        f"{TIMEOUTS.least_rate // 1024} KiB a second over each {TIMEOUTS.rate_window:.0f} s",
        f"| requests in flight | {bounds.MAX_IN_FLIGHT} a worker, `/health` and `/metrics` apart |",
        f"{mongo.OPERATION_TIMEOUT_MS // 1000} s with its retries; {mongo.SERVER_SELECTION_TIMEOUT_MS // 1000} s to find",
        f"| a list | {LIST_SECONDS:.0f} s of MongoDB's time |",
    ]) == []  # fmt: skip


def test_the_limits_are_those_of_the_code() -> None:
    rows = {quoted(row[0])[0]: (quoted(row[3])[-1], row[4]) for row in table("docs/limits.md", "| limit |")}
    policies = (limits.SIGNUP, limits.LOGIN, limits.AUTH, limits.DAILY)
    assert list(rows) == [policy.name for policy in policies]
    for policy in policies:
        setting, default = rows[policy.name]
        assert setting.lower() in ProjectSettings.model_fields
        assert f"{policy.limit(ProjectSettings()):,}" == default
    assert missing("docs/limits.md", [
        f"at most {leases.MAX_SLICE:,} requests",
        f"at most {PARTS[leases.MAX_PART]} of the limit, and at most {PARTS[counters.SHARE]} of what is left",
        f"not spent for {leases.IDLE_SECONDS:.0f} seconds",
        f"refused from memory for {SPANS[leases.REFUSAL_SECONDS]},",
        f"removed {SPANS[limits.KEEP_SECONDS]} after its window",
        f"counts by its /{CLIENT_PREFIX},",
    ]) == []  # fmt: skip


def test_the_container_is_as_described() -> None:
    whole = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
    compose = whole["services"]
    service, text = compose["service"], text_of("docs/deployment.md")
    assert service["command"][-2:] == ["--workers", "2"]
    graceful = TIMEOUTS.stop - TIMEOUTS.cut_short
    assert f"{service['stop_grace_period'].removesuffix('s')} s to stop after SIGTERM, of which {graceful:.0f}" in text
    assert (service["read_only"], service["cap_drop"], service.get("volumes")) == (True, ["ALL"], None)
    assert {name for name in compose if name.startswith("mongo")} == {"mongo-1", "mongo-2", "mongo-3"}
    assert {len(compose[name]["volumes"]) for name in ("mongo-1", "mongo-2", "mongo-3")} == {2}
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert "/health/ready" in service["healthcheck"]["test"][-1]
    assert service["depends_on"] == {"mongo-1": {"condition": "service_healthy"}}
    assert compose["mongo-1"]["networks"] == ["data"]
    assert whole["networks"]["data"]["internal"] is True
    image = (ROOT / "docker/Dockerfile").read_text()
    user = re.search(r"^USER (\d+)", image, re.MULTILINE)
    assert user is not None
    assert f"runs as user {user.group(1)}" in text
    (milliseconds,) = re.findall(r"electionTimeoutMillis: (\d+)", (ROOT / "docker/replica-set.js").read_text())
    assert f"`electionTimeoutMillis` {milliseconds}" in text


def test_the_oldest_python_is_the_one_that_is_required() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"Python {required.removeprefix('>=')} or newer" in text_of("README.md")
    assert f"{required.removeprefix('>=')} or newer is needed" in (ROOT / "scripts/setup").read_text()
