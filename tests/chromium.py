"""A real browser, and how it is started: without a window, and without what no test looks at."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is on the PATH (Debian: apt install chromium)"
)
# For each window Chromium begins two processes for suggestions below the address bar and one in advance for a next page: half
# of all that it does here. The last of several such lists counts, so what of Playwright's own is of use here is repeated.
WITHOUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "SpareRendererForSitePerProcess"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "MediaRouter"),
    *("OptimizationHints", "PaintHolding", "ThirdPartyStoragePartitioning", "Translate"),
)
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", f"--disable-features={','.join(WITHOUT)}"),
]


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium. While it runs nothing else in this thread can have an event loop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
