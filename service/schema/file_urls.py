"""File fields: a record keeps the names of files, an answer shows their URLs, `{storage_url}/files/<name>`. Pure.

A document has them in the fields that its collection declares as files. A user with files has a map `files` beside `data`,
field → file name, and `data` has the name in that field too, so that filters and indexes find it there. So the address of the
storage may change, and no URL is ever kept. An answer may carry a URL with a signature behind it
(`domain/files/signed_urls`), which a client may send back: it is of the same file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

STEM = r"[a-z0-9-]{1,40}-[0-9a-f]{32}"
NAME = rf"{STEM}\.[a-z]{{3,4}}"
# The extensions of the files that there may be.
EXTENSIONS = ("jpg", "jpeg", "png", "gif", "webp", "svg", "pdf", "doc", "docx")
# The extensions of the files that there may be.
SIGNED = r"(?:\?expires=[0-9]{1,12}&signature=[A-Za-z0-9_-]{1,64})?"
_BARE = re.compile(NAME)
_VARIANT = re.compile(r"[?&]variant=([a-z0-9_-]{1,32})$")
_NAME = re.compile(rf"({NAME}){SIGNED}")
# The URL with any storage address, as the text may be older than the present one.
_ANY_URL = re.compile(rf"https?://[^\s?#]+/files/({NAME}){SIGNED}")


@dataclass(frozen=True, slots=True)
class FileUrls:
    """The URLs of one storage; `prefix` is what they begin with, as in `https://files.example.com/files/`."""

    prefix: str

    def show(self, record: dict[str, Any]) -> dict[str, Any]:
        """`record` without `files`, and with the URL of each in its field of `data`."""
        files = record.pop("files", None)
        if files:
            data = record["data"]
            for field, name in files.items():
                # Another program may have written the field since; then it is as that wrote it.
                if data.get(field) == name:
                    data[field] = self.prefix + name
        return record

    def show_fields(self, data: dict[str, Any], fields: Iterable[str]) -> None:
        """Puts URLs where `data` has the names of files in these fields."""
        for field in fields:
            if field in data:
                value = data[field]
                data[field] = (
                    [self.show_value(each) for each in value] if isinstance(value, list) else self.show_value(value)
                )

    def show_value(self, value: Any) -> Any:
        """The URL in the place of a text with the form of a file's name."""
        return self.prefix + value if isinstance(value, str) and _BARE.fullmatch(value) else value

    def names(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Field → file name, of the fields whose whole value is a URL of this storage."""
        # Nearly every text is something else, and this is asked of each user that is shown.
        prefix = self.prefix
        return {
            field: name
            for field, value in data.items()
            if isinstance(value, str) and value.startswith(prefix) and (name := self.name(value)) is not None
        }

    def name_and_variant(self, text: str) -> tuple[str | None, str]:
        """The same of a URL that may name a variant of the file, and that, or nothing."""
        found = _VARIANT.search(text)
        return self.name(text[: found.start()] if found else text), found[1] if found else ""

    def name(self, text: str) -> str | None:
        """The file that `text` is the URL of, in this storage, with a signature or without."""
        if not text.startswith(self.prefix):
            return None
        found = _NAME.fullmatch(text, len(self.prefix))
        return found.group(1) if found else None


def named_file(value: Any) -> str | None:
    """The name of the file that `value` is a URL of, at any address, or None. It need not exist."""
    found = _ANY_URL.fullmatch(value) if isinstance(value, str) else None
    return found.group(1) if found else None


def name_pattern(extensions: Iterable[str]) -> str:
    """The pattern of the names of files with one of these extensions."""
    return rf"^{STEM}\.({'|'.join(extensions)})$"


def pattern_extensions(pattern: str) -> list[str] | None:
    """The extensions of a `name_pattern`; None where `pattern` is another."""
    start, end = rf"^{STEM}\.(", ")$"
    is_one = pattern.startswith(start) and pattern.endswith(end)
    return pattern.removeprefix(start).removesuffix(end).split("|") if is_one else None
