"""The page at /docs: Swagger UI as its package on the npm registry has it, and our page around it.

`scripts/vendor-viewer` writes `assets/swagger-ui*` and assets/VENDORED; nothing is fetched at run time.
"""

from functools import cache
from importlib.resources import files

MEDIA_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}
PAGE = "page.html"


@cache
def read_asset(name: str) -> bytes:
    """One of MEDIA_TYPES or PAGE. They are few and do not change while the process runs."""
    return (files("service.web.docs_ui") / "assets" / name).read_bytes()
