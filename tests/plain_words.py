"""Refuses docstrings and comments that hide their subject: `python -m tests.plain_words`, in `scripts/check`.

A sentence that begins with "Who", "Of" or "What" makes its reader guess what it is about. The check looks at each
sentence of each docstring and comment; quotations and code in backticks are not prose.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKED = ("service", "faults", "bench", "tests", "clients/python")
PUBLISHED = {
    "What is not named stays.",
    "What the link is for, and which of the project's REDIRECT_URLS it leads to in the end: without one the first.",
    "What a field holds.",
    "What changes in a document.",
    "What changes in all documents that `where` finds, which are all of them where it is empty.",
    "What `navigator.credentials.create()` gave, by its `toJSON()`.",
    "What `navigator.credentials.get()` gave, by its `toJSON()`.",
    "Whom to mail, in which language, and where the mail's link leads in the end.",
    "What a mail brought: either `flow_id` and `code`, or `token`. `password` is the account's, to prove an address.",
    "What a mail brought, either `flow_id` and `code`, or `token`; and the password to have from now on.",
    "What a list is to show; each part may be left out: only those in `model_fields_set` are read.",
    "What this service is, whether it is ready, and links: a page for browsers, JSON for others.",
    "Who may do what with the records of which collection; docs/access.md has the language.",
    "A user, or somebody with these roles.",
    "What the provider gave the app.",
    "What the browser brought back, and what the challenge was made of.",
    "Where to send the browser.",
    "Of an identity that was not used for long, less is known.",
}
"""Sentences of the OpenAPI document, which stays byte-equal."""

HINTS = {
    r"(Who|Whoever|Whom|Whose|Those who|Those that) ": "name the subject: `A caller without a credential is refused.`",
    r"Of\b": "begin with the noun: `Maximum bytes of one line.`",
    r"(What|Whatever)\b": "name the thing: `The rules of the collection.`, `Returns the documents that …`",
    r"How\b": "name the quantity or the way: `Seconds between two attempts.`, `Counts the requests of a minute.`",
    r"Whether\b": "say when it is true: `True if …`, `Returns True for …`",
    r"Where\b": "begin with the condition or the place: `If …, …`, `The folder that …`",
    r".*\btold\b": "say which: returned, reported, published, notified",
    r".*\banew\b": "write `again` or `a new …`",
    r".*\b(let|lets|letting) go of\b": "say which: released, dropped, forgotten, closed",
    r".*\b(somebody|nobody)\b": "name the subject: a caller, a client, `no caller`, `no worker`",
}
"""A pattern that begins a sentence, and what to write instead."""

QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z])|\n\s*\n|\n\s*(?=[-*] )")
Text = tuple[int, str]
"""The line a docstring or comment begins in, and its text."""


def main(places: Sequence[str]) -> int:
    """Prints each sentence that is refused, with a hint; the exit status is 1 if there is one."""
    paths = [path for place in places for path in _modules(Path(place))]
    found = [f"{path}:{fault}" for path in paths for fault in find_faults(path.read_text())]
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    return 1 if found else 0


def find_faults(source: str) -> list[str]:
    """`line: sentence (hint)` for each sentence of a docstring or comment that breaks a rule."""
    return [
        f"{line}: {sentence} ({hint})"
        for line, text in sorted([*docstrings(source), *comments(source)])
        for sentence in sentences(text)
        if sentence not in PUBLISHED
        for pattern, hint in HINTS.items()
        if re.match(pattern, QUOTED.sub("…", sentence), re.IGNORECASE if pattern.startswith(".*") else 0)
    ]


def sentences(text: str) -> list[str]:
    return [" ".join(each.split()).removeprefix("- ") for each in END.split(text) if each.strip()]


def docstrings(source: str) -> Iterator[Text]:
    """Every string that stands alone: of a module, class or function, or below a field."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def comments(source: str) -> Iterator[Text]:
    """Every comment; lines of their own that follow each other are one text."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found: list[tuple[int, int, bool, str]] = []
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        row, alone, text = token.start[0], token.line.lstrip().startswith("#"), _prose(token.string)
        if found and alone and found[-1][2] and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row, True, f"{found[-1][3]}\n{text}")
        else:
            found.append((row, row, alone, text))
    return iter([(begin, text) for begin, _, _, text in found])


def _prose(comment: str) -> str:
    """The comment without its sign, and without the rule names of a linter's exception."""
    return re.sub(r"^(noqa: [A-Z0-9, ]+|type: ignore\[[\w, -]+\]|pragma: no cover)( - )?", "", comment.lstrip("#! "))


def _modules(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or CHECKED))
