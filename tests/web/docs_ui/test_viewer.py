"""The vendored viewer is, byte for byte, what its package on the npm registry holds."""

import hashlib
from importlib.resources import files

ASSETS = files("service.web.docs_ui") / "assets"


def test_vendored_files_have_the_hashes_that_were_recorded() -> None:
    origin, *lines = (ASSETS / "VENDORED").read_text().splitlines()
    recorded = {name: digest for digest, name in (line.split() for line in lines)}
    assert origin.startswith("swagger-ui-dist ")
    assert " sha512-" in origin
    present = {file.name for file in ASSETS.iterdir() if file.name.startswith("swagger-ui")}
    assert recorded.keys() == present
    for name, digest in recorded.items():
        assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == digest


def test_the_page_names_no_other_host() -> None:
    page = (ASSETS / "page.html").read_text() + (ASSETS / "page.js").read_text()
    assert "//" not in page.replace("// Shows", "")
