"""A user name from the name a provider gives: "Björn O'Neill" → "bjorn_oneill". Pure."""

import re
import unicodedata

MAX_USERNAME = 64
ID_LETTERS = 8
WORD = re.compile(r"[^\W_]+")
# Letters that Unicode does not take apart into an ASCII letter and a mark; `ß` becomes `ss` by casefold.
PLAIN = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "\u0131": "i", "'": "", "\u2019": ""}
)


def username(name: str | None, user_id: str) -> str:
    """The words of `name` in lower case, joined by `_`; without a word the first 8 characters of `user_id`.

    A letter becomes ASCII where it has an ASCII base letter and stays what it is elsewhere: "Иван" → "иван".
    """
    folded = unicodedata.normalize("NFKC", name or "").casefold().translate(PLAIN)
    plain = "".join(map(_plain, unicodedata.normalize("NFC", folded)))
    return "_".join(WORD.findall(plain))[:MAX_USERNAME].strip("_") or user_id[:ID_LETTERS]


def _plain(letter: str) -> str:
    """`é` → `e`; letters of other scripts keep their marks, which are part of the letter there (`й`, `が`)."""
    base = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c))
    return base if base.isascii() else letter
