"""Draws images of every kind in this process; and in a process of its own the refused ones, within its limits."""

import asyncio
import io
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from faults.waiting import until
from service.errors import Unavailable
from service.images import draw as drawing
from service.images.landlock import find_abi, make_ruleset
from service.images.process import ImageProcess, NotDrawn

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


def test_no_variant_is_larger_than_its_image() -> None:
    sides = (1, 2, 3, 7, 160, 200, 239, 300, 4_096)
    for width, height, across, down in product(sides, sides, (*sides, None), (*sides, None)):
        for fit in ("cover", "contain"):
            if across or down:
                drawn_size = drawing.sizes(width, height, {"width": across, "height": down, "fit": fit})[1]
                assert drawn_size[0] <= min(width, across or width)
                assert drawn_size[1] <= min(height, down or height)


async def feed(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


async def ask(process: ImageProcess, content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(await process.draw(feed(content), len(content), wanted())))


@pytest.fixture(scope="module")
async def kept() -> AsyncIterator[ImageProcess]:
    process = ImageProcess()
    yield process
    await process.close()


async def test_a_process_is_kept_and_draws(kept: ImageProcess) -> None:
    assert_upright(await ask(kept, saved(scene())))
    pid = kept.pid
    assert pid is not None
    assert resource.prlimit(pid, resource.RLIMIT_AS)[0] == 512 * 1024 * 1024
    # Below all else of the service, whose session it is in: between sessions, nice levels are not compared.
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    assert os.getsid(pid) == os.getsid(0)
    images = await asyncio.gather(*(ask(kept, saved(scene(), "JPEG", quality=95)) for _ in range(3)))
    for image in images:
        assert_upright(image)
    assert kept.pid == pid


@pytest.mark.skipif(sys.platform != "linux", reason="a process is looked at under /proc")
async def test_v29_the_process_knows_nothing_of_the_environment(
    kept: ImageProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET_KEY", "MONGODB_URI", "SMTP_URL"):
        monkeypatch.setenv(name, "hidden-word")
    assert (await ask(kept, saved(Image.new("RGB", WIDE)))).width
    # Some locale that Python sets for itself may stand there.
    environment = await asyncio.to_thread(Path(f"/proc/{kept.pid}/environ").read_bytes)
    assert environment.replace(b"LC_CTYPE=C.UTF-8\0", b"") == b""


def test_v29_what_decodes_can_open_neither_a_file_nor_a_socket(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    program = (
        "import os, socket, sys\n"
        "from service.images.forks import close_doors\n"
        "close_doors()\n"
        "looks = (lambda: open('/etc/passwd'), socket.socket, lambda: open('/tmp/new', 'w'), lambda: os.unlink(sys.argv[1]))\n"
        "for look in looks:\n"
        "    try:\n"
        "        print(look())\n"
        "    except OSError as error:\n"
        "        print(error.strerror)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file")]
    seen = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert seen.stdout.splitlines() == ["Too many open files"] * 3 + ["Permission denied" if find_abi() else "None"]


# A call without a new descriptor, and the version of Landlock that refuses it to a confined process.
CALLS = {
    "os.mkdir(path + 'y')": 1,
    "os.truncate(path, 0)": 3,
    "target.connect(('127.0.0.1', port))": 4,
    "os.kill(os.getppid(), 0)": 6,
    "os.rename(path, path + 'x')": 1,
    "os.execv('/bin/echo', ['echo', 'done'])": 1,
}
CONFINED = """
import os, socket, sys
from service.images.landlock import confine
path, port, target = sys.argv[1], int(sys.argv[2]), socket.socket()
confine()
for call in sys.argv[3:]:
    try:
        eval(call)
        print("done", flush=True)
    except PermissionError:
        print("refused", flush=True)
"""


def test_v29_landlock_refuses_what_needs_no_descriptor(tmp_path: Path) -> None:
    """A kernel without Landlock, or with an older one, does as it is asked."""
    (tmp_path / "file").write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = [str(tmp_path / "file"), str(listener.getsockname()[1]), *CALLS]
        program = [sys.executable, "-c", CONFINED, *arguments]
        seen = subprocess.run(program, capture_output=True, text=True, check=True)  # noqa: S603
    expected = ["refused" if find_abi() >= since else "done" for since in CALLS.values()]
    assert seen.stdout.splitlines() == expected


@pytest.mark.parametrize(
    ("abi", "size", "rights"), [(1, 8, 13), (2, 8, 14), (3, 8, 15), (4, 16, 15), (5, 16, 16), (9, 24, 16)]
)
def test_v29_a_ruleset_has_what_the_version_knows(abi: int, size: int, rights: int) -> None:
    ruleset = make_ruleset(abi)
    assert (len(ruleset), int.from_bytes(ruleset[:8], sys.byteorder)) == (size, 2**rights - 1)


async def test_a_process_that_died_is_replaced(kept: ImageProcess) -> None:
    await ask(kept, saved(scene()))
    pid = kept.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    # It may be the first to see that it is gone.
    with suppress(Unavailable):
        await ask(kept, saved(scene()))
    assert_upright(await ask(kept, saved(scene())))
    assert kept.pid not in {None, pid}


async def test_an_image_that_ends_early_leaves_no_process_that_waits_for_the_rest(kept: ImageProcess) -> None:
    content = saved(scene())

    async def broken() -> AsyncIterator[bytes]:
        yield content[:10]
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        await kept.draw(broken(), len(content), wanted())
    assert kept.pid is None
    assert_upright(await ask(kept, content))


async def test_a_process_without_work_ends() -> None:
    process = ImageProcess(idle_seconds=0.0)
    await ask(process, saved(scene()))
    await until(lambda: process.pid is None)
    assert_upright(await ask(process, saved(scene())))
    await process.close()


def bomb(side: int = 60_000) -> bytes:
    """A PNG of 3.6 gigapixels, all black; Pillow would hold each pixel to write it."""
    packer, lines = zlib.compressobj(1), 600
    some = bytes((1 + side // 8) * lines)
    data = b"".join(packer.compress(some) for _ in range(side // lines)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part)) for name, part in parts
    )


# Made by the test that needs it, for every worker reads this file.
REFUSED: dict[str, Callable[[], bytes]] = {
    "a bomb": bomb,
    "a pixel too many": lambda: saved(Image.new("1", (40_001, 1_000))),
    "broken": lambda: saved(scene())[:-60],
    "nothing": lambda: b"\x89PNG\r\n",
    "another format": lambda: saved(scene(), "BMP"),
}


@pytest.mark.parametrize("kind", REFUSED)
async def test_what_is_refused(kept: ImageProcess, kind: str) -> None:
    content = REFUSED[kind]()
    await ask(kept, saved(scene()))
    pid = kept.pid
    with pytest.raises(NotDrawn):
        await ask(kept, content)
    assert kept.pid == pid


def test_a_bomb_is_an_image_that_is_only_too_large() -> None:
    with Image.open(io.BytesIO(bomb(600))) as image:
        image.load()
        assert (image.size, image.mode, image.getextrema()) == ((600, 600), "1", (0, 0))


async def test_40_million_pixels_are_drawn(kept: ImageProcess) -> None:
    assert (await ask(kept, saved(Image.new("RGB", (8_000, 5_000), RED), "JPEG"))).size == (40, 25)


# Draws in a fork whose decoder does as it likes.
DRAWN_BY = """
import resource
from service.images import draw, forks
MEMORY = (forks.MEMORY_BYTES, forks.MEMORY_BYTES)
resource.setrlimit(resource.RLIMIT_AS, MEMORY)
draw.draw = lambda content, wanted: {}
print(*forks.draw_in_fork({{}}, 0))
"""
FORKS = [
    ("str(resource.getrlimit(resource.RLIMIT_CPU)).encode()", "0 b'(10, 10)'"),
    ("bytearray(600 * 1024 * 1024)", "3 b''"),
    ("1 / 0", "3 b''"),
    ("forks.os.kill(forks.os.getpid(), 9)", "-9 b''"),
]


@pytest.mark.parametrize(("code", "printed"), FORKS)
def test_a_fork_has_limits_of_its_own(code: str, printed: str) -> None:
    command = [sys.executable, "-c", DRAWN_BY.format(code)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout.strip() == printed


def test_a_fork_that_says_too_much_is_ended() -> None:
    command = [
        sys.executable,
        "-c",
        DRAWN_BY.format("bytes(20 * 1024 * 1024)").replace("print(*", "print(len(").replace(", 0))", ", 0)[1]))"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout.strip() == str(16 * 1024 * 1024)
