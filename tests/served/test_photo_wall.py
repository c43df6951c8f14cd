"""The page docs/guides/photo-wall.md: its commands, and its page in a browser: preview, thumbnails, a list that goes on."""

import io
import json
import sys
from pathlib import Path

import httpx2
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from tests.chromium import needs_chromium
from tests.served.browser import PATIENCE_MS, shoot, window
from tests.served.packages import install, needs_packages, run
from tests.served.walkthrough import ROOT, Walkthrough

pytestmark = needs_chromium
expect.set_options(timeout=PATIENCE_MS)
# More than two pages of the list, with the one that the commands make.
PHOTOS = 27
# The page, and the folder of the site that it makes, for the fixtures `guide` and `origin`.
PAGE, SITE = "guides/photo-wall.md", "wall/site"


def picture(color: str) -> bytes:
    drawn = io.BytesIO()
    Image.new("RGB", (600, 400), color).save(drawn, "PNG")
    return drawn.getvalue()


def width_of(image: Locator) -> int:
    return int(image.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }"))


def titles(page: Page) -> list[str]:
    return page.get_by_role("listitem").all_inner_texts()


def test_the_commands_answer_as_the_page_says(guide: Walkthrough, folder: Path) -> None:
    with Image.open(folder / "wall/thumb.webp") as thumb:
        assert thumb.format == "WEBP"
    assert '"title":"Valjean"' in guide.output
    assert '"next":null' in guide.output


def test_a_picture_is_seen_before_and_after_it_is_sent(guide: Walkthrough, origin: str, guide_browser: Browser) -> None:
    with window(guide_browser) as page:
        page.goto(origin)
        page.get_by_label("E-mail").fill("ann@example.com")
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("Picture").set_input_files(
            {"name": "red.png", "mimeType": "image/png", "buffer": picture("red")}
        )
        assert width_of(page.get_by_alt_text("Preview")) == 600
        page.get_by_label("Title").fill("Red")
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_role("listitem")).to_have_text(["Red", "Valjean"])
        assert width_of(page.get_by_alt_text("Red")) == 240
        expect(page.get_by_alt_text("Preview")).to_be_hidden()
        page.get_by_label("Title").fill("Fake")
        page.get_by_label("Picture").set_input_files(
            {"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"}
        )
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        assert titles(page) == ["Red", "Valjean"]


def test_the_list_goes_on_while_it_is_scrolled(guide: Walkthrough, origin: str, guide_browser: Browser) -> None:
    photos = f"{guide.environment['URL']}/api/collections/photos/documents"
    with httpx2.Client(headers={"authorization": f"Bearer {guide.environment['TOKEN']}"}) as ann:
        while (count := ann.get(photos, params={"limit": 1}).json()["total"]) < PHOTOS:
            form = {"data": json.dumps({"title": f"Photo {count}"})}
            ann.post(photos, data=form, files={"image": ("a.png", picture("green"))}).raise_for_status()
    with window(guide_browser, width=360) as page:
        page.goto(origin)
        expect(page.get_by_role("listitem")).to_have_count(12)
        page.mouse.wheel(0, 5_000)
        expect(page.get_by_role("listitem")).to_have_count(24)
        page.mouse.wheel(0, 5_000)
        expect(page.get_by_role("listitem")).to_have_count(PHOTOS)
        expect(page.get_by_role("status")).to_have_text("That is all")
        assert len(set(titles(page))) == PHOTOS
        assert width_of(page.get_by_alt_text("Photo 2", exact=True)) == 240
        shoot(page, "wall")


def upload_by(guide: Walkthrough, title: str, *command: str | Path) -> None:
    """Runs a program of the page, which prints the newest photos, and deletes what it made."""
    newest, *older = run(guide.folder, *command, **guide.environment).splitlines()
    url = newest.removeprefix(f"{title} ")
    assert url != newest
    assert 1 <= len(older) <= 11
    with Image.open(io.BytesIO(httpx2.get(url).content)) as thumb:
        assert thumb.format == "WEBP"
    photos = f"{guide.environment['URL']}/api/collections/photos/documents"
    with httpx2.Client(headers={"authorization": f"Bearer {guide.environment['TOKEN']}"}) as ann:
        (made,) = ann.get(photos, params={"title_eq": title}).json()["documents"]
        assert ann.delete(f"{photos}/{made['id']}").status_code == 204


def test_a_program_of_python_uploads_and_reads(guide: Walkthrough, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(guide.environment, "PYTHONPATH", str(ROOT / "clients/python"))
    upload_by(guide, "In Python", sys.executable, "wall/upload.py")


@needs_packages
def test_a_program_of_typescript_uploads_and_reads(guide: Walkthrough, node: str, package: Path) -> None:
    install(package, guide.folder)
    upload_by(guide, "In JavaScript", node, "wall/upload.mjs")
