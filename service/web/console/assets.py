"""The files of the console as they are sent: read and compressed once, named by one hash of all. Pure.

`scripts/vendor-console` writes `static/vendor` and static/VENDORED; nothing is fetched at run time.
"""

import base64
import gzip
import hashlib
import posixpath
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import orjson

FOLDERS = ("app", "grid", "pages", "parts", "style", "vendor")
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
# The bare names in modules, by the files of `vendor` that they stand for.
MODULES = {
    "preact": "preact.mjs",
    "preact/hooks": "preact-hooks.mjs",
    "@preact/signals": "signals.mjs",
    "@preact/signals-core": "signals-core.mjs",
    "htm": "htm.mjs",
    "lean-qr": "lean-qr.mjs",
}
FIRST_MODULE = "app/main.js"
# A static import of a module; the brackets of `import()` end the match.
IMPORT = re.compile(r'(?:^|;)import\b[^"();=]*"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file; `packed` is the same in gzip, where that is smaller."""

    body: bytes
    packed: bytes | None
    media_type: str


@dataclass(frozen=True, slots=True)
class Console:
    """The page, its policy, and its assets by `<folder>/<name>`; `version` is the hash in their addresses."""

    page: bytes
    policy: str
    version: str
    assets: dict[str, Asset]

    def allow_pictures(self, origin: str) -> str:
        """The policy, with pictures of another origin; of none where it is empty."""
        return self.policy.replace("img-src 'self'", f"img-src 'self' {origin}".rstrip())


@cache
def read_console() -> Console:
    """The console of this process, whose files do not change while it runs."""
    root = files("service.web.console") / "static"
    assets: dict[str, Asset] = {}
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for file in sorted((root / folder).iterdir(), key=lambda each: each.name):
            if media_type := MEDIA_TYPES.get(file.name.rpartition(".")[2]):
                path, body = f"{folder}/{file.name}", file.read_bytes()
                assets[path] = _pack(body, media_type)
                digest.update(f"{path} {hashlib.sha256(body).hexdigest()}\n".encode())
    version = digest.hexdigest()[:16]
    page, policy = _write_page((root / "index.html").read_text(), f"./a/{version}", find_modules(assets))
    return Console(page, policy, version, assets)


def find_modules(assets: dict[str, Asset]) -> list[str]:
    """The modules that the first one imports, and their imports; a dynamic `import()` is none."""
    found = [FIRST_MODULE]
    for path in found:
        for name in IMPORT.findall(assets[path].body.decode()):
            file = f"vendor/{MODULES[name]}" if name in MODULES else posixpath.join(posixpath.dirname(path), name)
            if (module := posixpath.normpath(file)) not in found:
                found.append(module)
    return found


def _pack(body: bytes, media_type: str) -> Asset:
    packed = gzip.compress(body, 9, mtime=0)
    return Asset(body, packed if len(packed) < len(body) else None, media_type)


def _write_page(template: str, base: str, first: list[str]) -> tuple[bytes, str]:
    """The page with the addresses of its assets, and the content security policy that allows its import map."""
    names = {name: f"{base}/vendor/{file}" for name, file in MODULES.items()}
    modules = orjson.dumps({"imports": names}).decode()
    preloads = "\n  ".join(f'<link rel="modulepreload" href="{base}/{path}">' for path in first)
    page = template.replace("{preloads}", preloads).replace("{base}", base).replace("{modules}", modules)
    digest = base64.b64encode(hashlib.sha256(modules.encode()).digest()).decode()
    return page.encode(), (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; font-src 'self'; "
        "connect-src 'self'; img-src 'self' blob: data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
