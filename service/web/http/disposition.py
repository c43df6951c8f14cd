"""Content-Disposition (RFC 6266): tells a browser to show or save a file, and under which name. Pure."""

import re
import unicodedata
from urllib.parse import quote

MAX_NAME = 200
# RFC 8187 section 3.2.1: what an extended value may hold as it is.
ATTRIBUTE_CHARACTERS = "!#$&+-.^_`|~"


def content_disposition(file_name: str, *, inline: bool) -> str:
    """`attachment; filename="resume.pdf"`; with `filename*` besides where plain ASCII cannot say the name.

    The name is only ever a suggestion: folders, control characters and marks that turn the writing direction are taken
    out, and a quote or a backslash is replaced, so that no client has to understand escapes (RFC 6266 appendix D).
    """
    name = plain_name(file_name)
    ascii_name = re.sub(r"[^\x20-\x7e]|[\"\\%]", "_", name)
    value = f'{"inline" if inline else "attachment"}; filename="{ascii_name}"'
    if ascii_name != name:
        value += f"; filename*=UTF-8''{quote(name, safe=ATTRIBUTE_CHARACTERS)}"
    return value


def plain_name(file_name: str) -> str:
    """The name without folders and invisible characters; of a name that is too long, its end."""
    name = re.split(r"[/\\]", file_name)[-1]
    visible = "".join(c for c in name if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Zl", "Zp"})
    return visible.strip(" ")[-MAX_NAME:] or "file"
