"""The short form of scripts/abort_uploads: clients that leave, a worker and a MongoDB that are killed, one sweep."""

from pathlib import Path

from bench.aborts import FAULTS, cut_short, mongod
from tests.live.server import serving


def test_f6_r5_after_uploads_cut_short_and_one_sweep_nothing_is_left(tmp_path: Path) -> None:
    with mongod(tmp_path) as database, serving(database.uri, "aborts_", workers=2) as server:
        report = cut_short(server, database, uploads=50, seed=5)
    assert {name: report[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert report["users, each with a picture"] == 24
    assert report["workers killed"] >= 1
    assert report["MongoDB killed"] >= 1
