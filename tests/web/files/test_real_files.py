"""Files that real programs wrote come back byte for byte, under their own type."""

import io
from pathlib import Path

import pytest
from PIL import Image

from faults.samples import FORM_TYPE, account, file_part, form
from tests.conftest import BASE_URL, Api

FILES = Path(__file__).parents[2] / "files"
OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def photo() -> bytes:
    """A JPEG as cameras write it: Exif with an orientation and a maker, before the picture."""
    target, exif = io.BytesIO(), Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Daguerre"
    Image.linear_gradient("L").save(target, "JPEG", exif=exif, quality=80)
    return target.getvalue()


def animation() -> bytes:
    target = io.BytesIO()
    frames = [Image.new("P", (30, 30), colour) for colour in range(5)]
    frames[0].save(target, "GIF", save_all=True, append_images=frames[1:], duration=100, loop=0)
    return target.getvalue()


def lossy() -> bytes:
    target = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").save(target, "WEBP", quality=40, lossless=False)
    return target.getvalue()


REAL: list[tuple[str, bytes, str]] = [
    ("photo.jpg", photo(), "image/jpeg"),
    ("PHOTO.JPEG", photo(), "image/jpeg"),
    ("animation.gif", animation(), "image/gif"),
    ("lossy.webp", lossy(), "image/webp"),
    ("letter.pdf", (FILES / "letter.pdf").read_bytes(), "application/pdf"),
    ("letter.doc", (FILES / "letter.doc").read_bytes(), "application/msword"),
    ("letter.docx", (FILES / "letter.docx").read_bytes(), OFFICE),
]


@pytest.mark.parametrize(("name", "content", "media_type"), REAL, ids=[row[0] for row in REAL])
async def test_a_real_file_comes_back(api: Api, name: str, content: bytes, media_type: str) -> None:
    body = form(account(), file_part("it", name, content))
    answer = await api.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    file = await api.http.get(answer.json()["user"]["data"]["it"].removeprefix(BASE_URL))
    assert (file.content, file.headers["content-type"]) == (content, media_type)


@pytest.mark.parametrize(
    ("name", "other"), [("letter.doc", "x.docx"), ("letter.docx", "x.doc"), ("letter.pdf", "x.doc")]
)
async def test_f4_a_real_file_under_another_type_is_refused(api: Api, name: str, other: str) -> None:
    body = form(account(), file_part("it", other, (FILES / name).read_bytes()))
    answer = await api.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert answer.status_code == 415
