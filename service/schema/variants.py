"""Variants of images, as a field of files declares them: {"thumb": {"width": 160, "height": 160, "fit": "cover"}}."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.bounds import MAX_VARIANT_SIDE, MAX_VARIANTS
from service.errors import Location, Violation
from service.schema.strict_json import shown

VARIANT_NAME = re.compile(r"[a-z0-9_-]{1,32}")
RASTER = frozenset({"jpg", "jpeg", "png", "gif", "webp"})
FITS, FORMATS = ("contain", "cover"), ("webp", "jpeg")
PARTS = ("width", "height", "fit", "format")


@dataclass(frozen=True, slots=True)
class Variant:
    """An image of at most so many pixels: all of it, or with the fit `cover` as much as fills them. Never enlarged."""

    width: int | None = None
    height: int | None = None
    fit: str = FITS[0]
    format: str = FORMATS[0]


Variants = Mapping[str, Variant]


def build_variants(declared: Mapping[str, Mapping[str, Any]]) -> Variants:
    """The variants of a definition that `check_variants` accepted."""
    return {name: Variant(**definition) for name, definition in declared.items()}


def check_variants(definition: Mapping[str, Any], loc: Location) -> Iterator[Violation]:
    """Yields the violations in the variants of a definition of files, at `loc`."""
    declared, place = definition["variants"], (*loc, "variants")
    if not isinstance(declared, dict) or not 1 <= len(declared) <= MAX_VARIANTS:
        yield Violation(place, f"Must be an object of 1 to {MAX_VARIANTS} variants by their names", "dict_type")
        return
    types = definition.get("types")
    if not isinstance(types, list) or any(each not in RASTER for each in types if isinstance(each, str)):
        msg = f"Only images have variants: declare types, some of {', '.join(sorted(RASTER))}"
        yield Violation(place, msg, "value_error")
    for name, variant in declared.items():
        yield from _problems(name, variant, (*place, shown(name)[1:-1]))


def _problems(name: str, variant: Any, place: Location) -> Iterator[Violation]:
    if not VARIANT_NAME.fullmatch(name):
        yield Violation(place, "Must have 1 to 32 lower-case letters, digits, '_' or '-'", "value_error")
    if not isinstance(variant, dict):
        yield Violation(place, 'Must be an object such as {"width": 160}', "dict_type")
        return
    for part, value in variant.items():
        if part not in PARTS:
            yield Violation((*place, shown(part)[1:-1]), f"Must be one of {', '.join(PARTS)}", "extra_forbidden")
        elif problem := _problem(part, value):
            yield Violation((*place, part), problem, "value_error")
    if not variant.keys() & {"width", "height"}:
        yield Violation((*place, "width"), "A variant has a width, a height, or both", "missing")


def _problem(part: str, value: Any) -> str | None:
    if part in {"fit", "format"}:
        known = FITS if part == "fit" else FORMATS
        return None if value in known else f"Must be one of {', '.join(known)}"
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_VARIANT_SIDE
    return None if fits else f"Must be a whole number from 1 to {MAX_VARIANT_SIDE}"
