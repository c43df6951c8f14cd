"""The names by which users sign in: their form, and the fold by which two names are the same. Pure.

fold_name("Zoë")  "zoe": neither case, width nor accents distinguish two names
"""

import re
import unicodedata
from typing import Any

FIELD = "username"
# Characters of a name that signs in. Names from before the setting, and imported ones, have any form.
MAX_SIGNING_NAME = 256
RULE = "3 to 32 letters, digits, `.`, `_` and `-`"
# Letters and digits of any script; marks that do not compose with a letter are neither.
FORM = re.compile(r"[\w.-]{3,32}")
# Letters that decomposition leaves as they are.
LETTERS = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ħ": "h",
        "ŋ": "n",
        "\u0131": "i",
    }
)
# Marks of Latin, Greek, Cyrillic, Hebrew and Arabic, and the stretching of Arabic letters.
MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0640]")


def fold_name(name: str) -> str:
    """Unicode compatibility decomposition, full case folding, and no marks."""
    folded = unicodedata.normalize("NFKD", name).casefold().translate(LETTERS)
    return unicodedata.normalize("NFC", MARKS.sub("", folded))


def key_of(data: Any) -> str | None:
    """The key of the name that a user's `data` has; None for another value, and for a text that is longer than names."""
    name = data.get(FIELD)
    return fold_name(name) if isinstance(name, str) and len(name) <= MAX_SIGNING_NAME else None


def is_name(value: Any) -> bool:
    """True for a text that users may have as a name."""
    if not isinstance(value, str):
        return False
    name = unicodedata.normalize("NFC", value)
    return FORM.fullmatch(name) is not None and all(_is_plain(letter) for letter in name)


def _is_plain(letter: str) -> bool:
    return letter in "._-" or unicodedata.category(letter)[0] == "L" or unicodedata.category(letter) == "Nd"
