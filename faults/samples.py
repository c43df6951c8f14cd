"""Small files of every accepted type, forms made by hand, and what is left in a database."""

import io
import json
from typing import Any

from PIL import Image
from pymongo.database import Database

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="red"/></svg>'
SCRIPTED_SVG = SVG.replace(
    b"</svg>", b"<script>document.documentElement.setAttribute('data-ran', 'yes')</script></svg>"
)
BOUNDARY = "sample-boundary"
FORM_TYPE = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


def picture(format_name: str = "PNG", size: tuple[int, int] = (20, 10), **options: Any) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", size, "red").save(target, format_name, **options)
    return target.getvalue()


PNG = picture()


def png(length: int) -> bytes:
    """A PNG of exactly so many bytes; viewers ignore what follows its last chunk."""
    return PNG.ljust(length, b"\0")


def data_part(value: Any) -> bytes:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return part('name="data"', raw)


def file_part(field: str, file_name: str = "me.png", content: bytes = PNG) -> bytes:
    return part(f'name="{field}"; filename="{file_name}"', content)


def part(disposition: str, content: bytes) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def account(email: str = "ann@example.com", **data: Any) -> bytes:
    """The part `data` of a signup."""
    return data_part({"email": email, "password": "correct horse", **data})


def stored(database: Database[dict[str, Any]]) -> dict[str, int]:
    """The number of stored records: users, and all that files are made of."""
    names = ("users", "files.files", "files.chunks", "uploads")
    return {name: count for name in names if (count := database[name].count_documents({}))}
