"""docs/scaling.md: what it says of indexes, variables and workers is so in the code."""

import re
from pathlib import Path

from service.bounds import MAX_HASHES_WAITING, MAX_IN_FLIGHT
from service.domain.projects.lookup import CACHE_SECONDS
from service.settings import Settings
from service.storage.client import MAX_CONNECTIONS, OPERATION_TIMEOUT_MS, connect
from service.storage.databases import USER_INDEXES
from tests.conftest import Api

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/scaling.md").read_text()
TEXT = " ".join(PAGE.split())
WORDS = {5: "five"}


def rows(heading: str) -> dict[str, str]:
    """First cell → second cell of the table under `heading`."""
    table = PAGE.partition(f"{heading}\n")[2].partition("\n\n")[0]
    return {cells[1].strip(): cells[2].strip() for line in table.splitlines()[1:] if (cells := line.split("|"))}


async def test_the_unique_indexes_are_those_of_a_project(api: Api) -> None:
    documented = rows("| collection | unique indexes | can be sharded by |")
    for name in ("users", "files.files", "files.chunks"):
        indexes = api.database[name].index_information().values()
        unique = ["`, `".join(field for field, _ in index["key"]) for index in indexes if index.get("unique")]
        assert documented.get(f"`{name}`", "") == "; ".join(f"`{each}`" for each in unique)
    # Were one the beginning of the other, `users` could be sharded after all.
    assert len({next(iter(index.document["key"])) for index in USER_INDEXES if index.document.get("unique")}) == 2


def test_the_variables_that_services_must_agree_on_exist() -> None:
    named = {name for cell in rows("| variable | else |") for name in re.findall(r"`([A-Z_]+)\*?`", cell)}
    settings = {name.upper() for name in Settings.model_fields}
    assert all(name in settings or any(each.startswith(name) for each in settings) for name in named)
    # The others concern one machine, not what clients see; a secret in a file is the same secret.
    assert {name for name in settings if not any(name.startswith(each) for each in named)} == {
        "DATA_DIR", "METRICS_TOKEN", "BCRYPT_COST", "DRAIN_SECONDS", "LOG_LEVEL", "LOG_FORMAT"
    }  # fmt: skip


def test_what_a_worker_has_for_itself() -> None:
    promised = [
        f"for {WORDS[CACHE_SECONDS]} seconds at most",
        f"up to {MAX_CONNECTIONS} connections",
        f"keeps {MAX_HASHES_WAITING} hashes",
        f"serves {MAX_IN_FLIGHT} requests",
        f"has waited {OPERATION_TIMEOUT_MS // 1000} s the answer is a 503",
    ]
    assert [promise for promise in promised if promise not in TEXT] == []


async def test_writes_are_acknowledged_by_a_majority_whatever_the_uri_says() -> None:
    client = connect("mongodb://127.0.0.1:9/?w=1&readPreference=secondary")
    assert client.write_concern.document == {"w": "majority"}
    await client.close()


def test_the_container_elects_as_fast_as_promised() -> None:
    (milliseconds,) = re.findall(r"electionTimeoutMillis: (\d+)", (ROOT / "docker/replica-set.js").read_text())
    assert f"| {int(milliseconds):,}, as `docker/` sets it |" in TEXT
