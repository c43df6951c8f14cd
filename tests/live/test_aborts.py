"""The short form of scripts/abort_uploads: clients that leave, a worker and a MongoDB that are killed, one sweep."""

from faults.aborts import FAULTS, abort_uploads
from faults.uploads import RECORDS, DocumentFiles, UserPictures


def test_f6_r5_after_uploads_cut_short_and_one_sweep_nothing_is_left() -> None:
    report = abort_uploads(50, seed=5, target=UserPictures())
    assert {name: report[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert report["files that records name"] == RECORDS
    assert report["workers killed"] >= 1
    assert report["MongoDB killed"] >= 1


def test_f6_r5_after_uploads_to_documents_cut_short_and_one_sweep_nothing_is_left() -> None:
    report = abort_uploads(30, seed=6, target=DocumentFiles())
    assert {name: report[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert report["files that records name"] >= RECORDS
    assert report["workers killed"] >= 1
