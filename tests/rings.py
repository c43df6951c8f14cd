"""The rings of the tests: `--quick` runs those that a developer waits for. Slow tests start first in every run."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Slow tests, which mostly wait for processes, start first: at the end all workers would wait for them.
FIRST = (
    "served",
    "live",
    "test_readme.py",
    "console",
    "cli",
    "embedded",
    "observe",
    "server",
    "threats/test_noninterference.py",
    "threats/test_faults.py",
    "threats/test_limit_attacks.py",
    "threats/test_connection_attacks.py",
    "web/operations",
    "web/sign_in/test_browser.py",
    "web/collections/test_real_collections.py",
    "seeding/test_command.py",
)
# `--quick` leaves these out as well: attacks, and files that start processes, take some four seconds of CPU, or wait long.
LONG = (
    "domain/files/test_types.py",
    "domain/mail_flows/test_outbox.py",
    "seeding/test_seed.py",
    "test_exception_instances.py",
    "test_fuzz.py",
    "test_plain_words.py",
    "test_starts.py",
    "threats",
    "web/collections/test_rules_and_schemas.py",
    "web/collections/test_schema_changes.py",
    "web/openapi/test_openapi.py",
    "web/realtime/test_steps.py",
    "web/realtime/test_unsent.py",
    "web/sign_in/test_users.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    options = parser.getgroup("rings of tests")
    options.addoption("--quick", action="store_true", help="leave out the tests that start processes or take long")
    options.addoption(
        "--production-deadlines", action="store_true", help="keep the deadlines of production, on a quiet machine"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--quick") and any(collection_path == HERE / name for name in FIRST + LONG):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each worker begins with an equal share of this order; a worker that is done takes from the end of another's share.

    So half of the workers begin with slow tests, and the others keep the processors busy. A folder's tests stay together,
    for they share processes.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    early = max(workers // 2, 1)
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    ranks = {path: _rank(path) for path in files}
    others = [item for path in files if ranks[path] == len(FIRST) for item in files[path]]
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        mine = [path for path in files if ranks[path] < len(FIRST) and ranks[path] % early == worker]
        mine.sort(key=lambda path: ranks[path])
        share = [item for path in mine for item in files[path]]
        room = (len(items) - len(ordered)) // (workers - worker) - len(share)
        ordered += [*share, *others[: max(room, 0)]]
        del others[: max(room, 0)]
    items[:] = [*ordered, *others]


def _rank(path: Path) -> int:
    """The place in FIRST; behind it for all else."""
    return next((rank for rank, name in enumerate(FIRST) if path.is_relative_to(HERE / name)), len(FIRST))
