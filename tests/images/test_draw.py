"""What is drawn of images of every kind, in this process; and in one of its own what is refused, within its limits."""

import io
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from PIL import Image, ImageDraw

from service.images import draw as drawing
from service.images.process import NotDrawn, draw

WIDE, RED, BLUE, YELLOW = (80, 60), (255, 0, 0), (0, 0, 255), (255, 255, 0)
T = Image.Transpose
# Orientation → how an image is stored that is shown upright by it.
STORED = {
    1: None,
    2: T.FLIP_LEFT_RIGHT,
    3: T.ROTATE_180,
    4: T.FLIP_TOP_BOTTOM,
    5: T.TRANSPOSE,
    6: T.ROTATE_90,
    7: T.TRANSVERSE,
    8: T.ROTATE_270,
}


def scene(size: tuple[int, int] = WIDE) -> Image.Image:
    """Red above on the left, blue above on the right, yellow below."""
    image = Image.new("RGB", size, YELLOW)
    pen, (width, height) = ImageDraw.Draw(image), size
    pen.rectangle((0, 0, width // 2 - 1, height // 2 - 1), fill=RED)
    pen.rectangle((width // 2, 0, width, height // 2 - 1), fill=BLUE)
    return image


def saved(image: Image.Image, format_: str = "PNG", **options: Any) -> bytes:
    target = io.BytesIO()
    image.save(target, format_, **options)
    return target.getvalue()


def wanted(**more: Any) -> dict[str, Any]:
    return {"width": 40, "height": 40, "fit": "contain", "format": "webp", "pixels": 40_000_000, **more}


def drawn(content: bytes, **more: Any) -> Image.Image:
    image = Image.open(io.BytesIO(drawing.draw(content, wanted(**more))))
    assert not image.getexif()
    assert not image.info.get("icc_profile")
    return image


def is_like(found: Any, colour: tuple[int, ...]) -> bool:
    return all(abs(one - other) < 48 for one, other in zip(found, colour, strict=False))


def assert_upright(image: Image.Image) -> None:
    width, height = image.size
    seen = image.convert("RGB")
    assert is_like(seen.getpixel((width // 4, height // 4)), RED)
    assert is_like(seen.getpixel((width * 3 // 4, height // 4)), BLUE)
    assert is_like(seen.getpixel((width // 2, height * 3 // 4)), YELLOW)


@pytest.mark.parametrize("orientation", STORED)
def test_exif_is_turned_and_stripped(orientation: int) -> None:
    exif, how = Image.Exif(), STORED[orientation]
    exif[0x0112], exif[0x010E] = orientation, "a secret"
    content = saved(scene().transpose(how) if how is not None else scene(), "JPEG", exif=exif.tobytes(), quality=95)
    image = drawn(content)
    assert image.size == (40, 30)
    assert_upright(image)
    assert b"a secret" not in drawing.draw(content, wanted())


KINDS = [
    ("cmyk", saved(scene().convert("CMYK"), "JPEG", quality=95)),
    ("animated gif", saved(scene(), "GIF", save_all=True, append_images=[Image.new("RGB", WIDE)])),
    ("animated webp", saved(scene(), "WEBP", save_all=True, append_images=[Image.new("RGB", WIDE)])),
    ("palette", saved(scene().quantize(8))),
    ("transparency", saved(scene().convert("RGBA"))),
]


@pytest.mark.parametrize("content", [content for _, content in KINDS], ids=[name for name, _ in KINDS])
@pytest.mark.parametrize("format_", ["webp", "jpeg"])
def test_every_kind_is_drawn_upright_and_still(content: bytes, format_: str) -> None:
    image = drawn(content, format=format_)
    assert image.format == format_.upper()
    assert getattr(image, "n_frames", 1) == 1
    assert_upright(image)


def test_grey_of_16_bits_is_not_white() -> None:
    image = Image.new("I", WIDE, 128 * 256).convert("I;16")
    seen = drawn(saved(image)).convert("L").getpixel((5, 5))
    assert isinstance(seen, int)
    assert abs(seen - 128) < 8


def test_what_is_transparent_stays_so_or_is_white() -> None:
    content = saved(Image.new("RGBA", WIDE, (255, 0, 0, 0)))
    assert drawn(content).convert("RGBA").getchannel("A").getextrema() == (0, 0)
    assert is_like(drawn(content, format="jpeg").convert("RGB").getpixel((5, 5)), (255, 255, 255))


@pytest.mark.parametrize(
    ("sizes", "size"),
    [
        ({"width": 40, "height": 40}, (40, 30)),
        ({"width": 40, "height": 40, "fit": "cover"}, (40, 40)),
        ({"width": 40, "height": None, "fit": "cover"}, (40, 30)),
        ({"width": None, "height": 15}, (20, 15)),
        ({"width": 400, "height": 400}, WIDE),
        ({"width": 400, "height": 30, "fit": "cover"}, (80, 30)),
        ({"width": 400, "height": 400, "fit": "cover"}, WIDE),
        ({"width": 1, "height": 1}, (1, 1)),
    ],
)
def test_sizes(sizes: dict[str, Any], size: tuple[int, int]) -> None:
    assert drawn(saved(scene()), **sizes).size == size


async def feed(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


async def test_a_process_draws() -> None:
    assert_upright(Image.open(io.BytesIO(await draw(feed(saved(scene())), wanted()))))


REFUSED = [
    ("a bomb", saved(Image.new("1", (60_000, 60_000)))),
    ("a pixel too many", saved(Image.new("1", (40_001, 1_000)))),
    ("broken", saved(scene())[:-60]),
    ("nothing", b"\x89PNG\r\n"),
    ("another format", saved(scene(), "BMP")),
]


@pytest.mark.parametrize("content", [content for _, content in REFUSED], ids=[name for name, _ in REFUSED])
async def test_what_is_refused(content: bytes) -> None:
    with pytest.raises(NotDrawn):
        await draw(feed(content), wanted())


async def test_40_million_pixels_are_drawn() -> None:
    content = saved(Image.new("RGB", (8_000, 5_000), RED), "JPEG")
    image = Image.open(io.BytesIO(await draw(feed(content), wanted())))
    assert image.size == (40, 25)


def test_a_process_has_limits() -> None:
    """Of memory; and of the processor, which a test would take ten seconds to use up."""
    code = (
        "import resource, runpy; limit = runpy.run_path('service/images/draw.py')['limit']; limit();"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0]);"
        "bytearray(600 * 1024 * 1024)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert found.stdout.split() == ["536870912", "10"]
    assert "MemoryError" in found.stderr
