"""A user name from the name a provider gives: "Björn O'Neill" → "bjorn_oneill". Pure."""

import unicodedata

from slugify import slugify

MAX_USERNAME = 64
ID_LETTERS = 8
# Characters that are read of a longer name.
MAX_READ = 256
# Without these an apostrophe would part a word in two: "o_neill".
APOSTROPHES = (("'", ""), ("\u2019", ""))


def username(name: str | None, user_id: str) -> str:
    """The words of `name` in lower case, joined by `_`; without a word the first 8 characters of `user_id`.

    A name in Latin letters becomes ASCII. One with other letters stays as it is, "Иван" → "иван": transliteration
    depends on its language, which is unknown.
    """
    read = (name or "")[:MAX_READ]
    words = slugify(
        read,
        separator="_",
        max_length=MAX_USERNAME,
        replacements=APOSTROPHES,
        replacement_stage="pre",
        allow_unicode=not _is_latin(read),
        backend="text-unidecode",
        algorithm="modern",
    )
    return words or user_id[:ID_LETTERS]


def _is_latin(text: str) -> bool:
    return all("LATIN" in unicodedata.name(letter, "LATIN") for letter in text if letter.isalpha())
