"""Backups in Chromium: one is taken, verified, downloaded, restored under another id, and deleted; a job is cancelled."""

import zipfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Route, expect

from tests.console.conftest import BLANK, Console, find_misfits, needs_console

pytestmark = needs_console
HOME = "kept"
JOB: dict[str, Any] = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c2",
    "kind": "backup",
    "project_id": HOME,
    "state": "running",
    "phase": "documents",
    "progress": {"done": 8_000, "total": 8_845, "unit": "records", "rate": 21_000},
    "warnings": [],
    "result": None,
    "error": None,
    "by": {"kind": "operator", "id": "66f0c1a2b3c4d5e6f7a8b9c1", "name": "<b>Olga"},
    "attempt": 1,
    "created_at": "2026-11-23T13:00:00Z",
    "started_at": "2026-11-23T13:00:00Z",
    "ended_at": None,
}


def test_a_backup_is_taken_verified_restored_and_deleted(console: Console, tmp_path: Path) -> None:
    console.admin("POST", "projects", {"name": "Kept", "id": HOME})
    page = console.open(f"#/projects/{HOME}")
    page.get_by_role("region", name="Not set up yet").get_by_role("link", name="Backup").click()
    expect(page.get_by_role("heading", name="No backups yet")).to_be_visible()
    assert find_misfits(page) == []
    page.get_by_role("button", name="Back up now").first.click()
    page.get_by_role("textbox", name="Note").fill("Before the <b>move")
    page.get_by_role("checkbox", name="Files").uncheck()
    page.get_by_role("button", name="Back up", exact=True).click()
    row = page.get_by_role("row", name="Before the <b>move")
    expect(row).to_contain_text("done")
    row.get_by_role("link").press("Enter")
    panel = page.get_by_role("complementary", name="Backup")
    expect(panel).to_contain_text("0 documents, 0 files")
    assert find_misfits(page) == []
    panel.get_by_role("button", name="Verify").click()
    expect(row.locator("time")).to_have_count(2)
    with page.expect_download() as saved:
        panel.get_by_role("button", name="Download").click()
    saved.value.save_as(tmp_path / "kept.zip")
    assert "manifest.json" in zipfile.ZipFile(tmp_path / "kept.zip").namelist()
    panel.get_by_role("button", name="Pin", exact=True).click()
    expect(panel.get_by_role("button", name="Unpin")).to_be_visible()
    panel.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("textbox", name="Restore as")).to_have_value("kept-restored")
    page.get_by_role("button", name="Restore", exact=True).last.click()
    expect(page.get_by_role("dialog").get_by_role("link", name="Open kept-restored")).to_be_visible()
    page.get_by_role("button", name="Close").last.click()
    panel.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No backups yet")).to_be_visible()
    page.get_by_role("button", name="Copy the project").click()
    page.get_by_role("textbox", name="Id of the copy").fill("kept-restored")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("kept-restored already exists")
    page.get_by_role("textbox", name="Id of the copy").fill("kept-twice")
    page.get_by_role("button", name="Copy", exact=True).click()
    page.get_by_role("dialog").get_by_role("link", name="Open kept-twice").click()
    expect(page.get_by_role("heading", name="Kept", level=2)).to_be_visible()
    for project in (HOME, "kept-restored", "kept-twice"):
        console.admin("POST", f"projects/{project}/deletion", {"confirm": "Kept"})


def test_a_job_under_way_has_its_progress_and_is_cancelled(console: Console) -> None:
    page = console.open(BLANK)
    shown = {"jobs": [JOB], "next": None}

    def cancel(route: Route) -> None:
        shown["jobs"] = [JOB | {"state": "failed", "error": {"code": "unavailable", "detail": "<i>MongoDB is away"}}]
        route.fulfill(status=202, json=JOB | {"state": "cancelling"})

    page.route("**/admin/v1/jobs?*", lambda route: route.fulfill(json=shown))
    page.route("**/admin/v1/jobs/*/cancel", cancel)
    page.goto(f"{console.url}#/backups")
    jobs = page.get_by_role("region", name="Jobs", exact=True)
    expect(jobs.get_by_role("progressbar")).to_have_attribute("value", "8000")
    expect(jobs).to_contain_text("documents: 8,000 of 8,845")
    assert find_misfits(page) == []
    jobs.get_by_role("button", name="Cancel the job").click()
    expect(jobs).to_contain_text("<i>MongoDB is away")
    expect(jobs.get_by_role("button")).to_have_count(0)
