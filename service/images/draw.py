"""One variant of one image, as `{"width": 160, "height": 160, "fit": "cover", "format": "webp", "pixels": 40000000}` says."""

import io
from typing import Any

FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
WITH_ALPHA = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})
# EXIF orientations that lay an image on its side.
ON_ITS_SIDE = frozenset({5, 6, 7, 8})
ORIENTATION = 0x0112
TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "webp": {"quality": 80, "method": 3},
    "jpeg": {"quality": 82, "optimize": True, "progressive": True},
}


def draw(content: bytes, wanted: dict[str, Any]) -> bytes:
    """Raises the errors of Pillow; ValueError for more pixels than allowed, before any is decoded."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    image: Any = Image.open(io.BytesIO(content), formats=FORMATS)
    if image.width * image.height > wanted["pixels"]:
        raise ValueError("too many pixels")
    orientation = image.getexif().get(ORIENTATION)
    turned = orientation in ON_ITS_SIDE
    width, height = (image.height, image.width) if turned else image.size
    scaled, cut = sizes(width, height, wanted)
    stored = (scaled[1], scaled[0]) if turned else scaled
    # A decoder of JPEG can leave out what a smaller image does not show.
    image.draft(None, stored)
    profile = image.info.get("icc_profile")
    image = plain(image).resize(stored, Image.Resampling.LANCZOS, reducing_gap=2.0)
    if orientation in TURNS:
        image = image.transpose(Image.Transpose[TURNS[orientation]])
    left, top = (scaled[0] - cut[0]) // 2, (scaled[1] - cut[1]) // 2
    image = in_srgb(image.crop((left, top, left + cut[0], top + cut[1])), profile)
    return encode(image, wanted["format"])


def sizes(width: int, height: int, wanted: dict[str, Any]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The size to scale the image to, and the part to cut out of its middle. Never more than there is."""
    across, down = wanted.get("width"), wanted.get("height")
    scales = [limit / size for limit, size in ((across, width), (down, height)) if limit]
    covers = wanted["fit"] == "cover" and len(scales) > 1
    scale = min(1.0, max(scales) if covers else min(scales))
    scaled = (max(1, round(width * scale)), max(1, round(height * scale)))
    return scaled, (min(across, scaled[0]), min(down, scaled[1])) if covers else scaled


def plain(image: Any) -> Any:
    """The first frame, in a mode that can be scaled without visible loss."""
    image.load()
    if image.mode.startswith("I"):
        # 16 bits of grey, of which the upper 8 are shown.
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode == "P" or "transparency" in image.info:
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.convert("L") if image.mode in {"1", "F"} else image


def in_srgb(image: Any, profile: bytes | None) -> Any:
    """The colours by their profile, which the variant does not have; those of CMYK without one by plain arithmetic."""
    from PIL import ImageCms

    if profile and image.mode in {"RGB", "CMYK"}:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):
            pass
    if image.mode in WITH_ALPHA:
        return image.convert("RGBA")
    return image if image.mode in {"RGB", "L"} else image.convert("RGB")


def encode(image: Any, format_: str) -> bytes:
    """Without metadata; transparent pixels are white in JPEG."""
    from PIL import Image

    if format_ == "jpeg" and image.mode == "RGBA":
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        image = white
    target = io.BytesIO()
    image.info = {}
    image.save(target, format_, exif=b"", icc_profile=None, **SETTINGS[format_])
    return target.getvalue()
