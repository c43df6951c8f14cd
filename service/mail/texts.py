"""The texts of mails: ours in some languages, and a project's own, which know a closed list of placeholders."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from service.schema.values import CONTROL

# Mails with a code or a link, which are named by their purpose; and notices.
ACTIONS = ("sign_in", "verify_email", "reset_password", "change_email", "invite")
NOTICES = (
    "account_exists",
    "password_changed",
    "email_changed",
    "identity_changed",
    "session_reuse",
    "factor_changed",
    "recovery_code_used",
)
KINDS = (*ACTIONS, *NOTICES)
# Our languages; the first is the default.
LANGUAGES = ("en", "de", "fr")
OF_ALL = frozenset({"project", "email"})
PLACEHOLDERS = {kind: OF_ALL | ({"code", "link", "minutes"} if kind in ACTIONS else set()) for kind in KINDS}
PLACEHOLDER = re.compile(r"\{([a-z_]*)\}")
LOCALE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
LENGTHS = {"subject": 200, "heading": 200, "button": 60}
MAX_PARAGRAPHS, MAX_PARAGRAPH = 10, 2_000

Texts = Mapping[str, Mapping[str, "MailText"]]


@dataclass(frozen=True, slots=True)
class MailText:
    """The texts of one mail. `button` is on its link."""

    subject: str
    heading: str
    paragraphs: tuple[str, ...]
    button: str = ""

    def fill(self, values: Mapping[str, str]) -> "MailText":
        """Returns the text with its placeholders replaced. The values are plain text, never templates."""
        paragraphs = tuple(_fill(paragraph, values) for paragraph in self.paragraphs)
        subject, heading = _fill(self.subject, values), _fill(self.heading, values)
        return MailText(subject, heading, paragraphs, _fill(self.button, values))


@dataclass(frozen=True, slots=True)
class Language:
    """Our texts in one language; those `around` them are of the layout and the pages."""

    name: str
    texts: Mapping[str, MailText]
    around: Mapping[str, str]

    def describe_minutes(self, minutes: int) -> str:
        """`60` → `1 hour`."""
        for unit, size in (("day", 1_440), ("hour", 60), ("minute", 1)):
            if minutes % size == 0 and (unit != "day" or minutes > size):
                number = minutes // size
                return self.around[unit if number == 1 else f"{unit}s"].format(number=number)
        return str(minutes)


def _fill(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda found: values.get(found[1], ""), text)


@cache
def read_language(name: str) -> Language:
    """One of LANGUAGES."""
    found = tomllib.loads((files("service.mail") / "texts" / f"{name}.toml").read_text("utf-8"))
    around = found.pop("around")
    texts = {kind: MailText(**{**text, "paragraphs": tuple(text["paragraphs"])}) for kind, text in found.items()}
    return Language(name, texts, around)


def find_language(locale: str | None) -> Language:
    """Ours for a locale, as `de-AT`."""
    return read_language(next((each for each in _fallbacks(locale) if each in LANGUAGES), LANGUAGES[0]))


def find_text(own: Texts, kind: str, locale: str | None, *, variant: str = "") -> MailText:
    """The project's for the locale or its language, else ours for it, else the project's in English, else ours."""
    texts = {each.lower(): text for each, text in own.get(kind, {}).items()}
    for each in _fallbacks(locale):
        if each in texts:
            return texts[each]
        if each in LANGUAGES:
            return _ours(each, kind, variant)
    return texts.get(LANGUAGES[0]) or _ours(LANGUAGES[0], kind, variant)


def _ours(language: str, kind: str, variant: str) -> MailText:
    texts = read_language(language).texts
    return texts.get(f"{kind}_{variant}") or texts[kind]


def _fallbacks(locale: str | None) -> Sequence[str]:
    """`de-AT` → `de-at`, `de`."""
    parts = (locale or LANGUAGES[0]).lower().split("-")
    return ["-".join(parts[:number]) for number in range(len(parts), 0, -1)]


def read_texts(value: Any) -> dict[str, dict[str, MailText]]:
    """`{kind: {locale: {subject, heading, paragraphs, button?}}}`. Raises ValueError with the place and the fault."""
    return {
        kind: {locale: _read_text(kind, text, f"{kind}.{locale}") for locale, text in _locales(kind, texts)}
        for kind, texts in _object(value, "MAIL_TEXTS").items()
    }


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object")
    return value


def _locales(kind: str, texts: Any) -> list[tuple[str, Any]]:
    if kind not in KINDS:
        raise ValueError(f"{kind} is no kind of mail; there are {', '.join(KINDS)}")
    found = list(_object(texts, kind).items())
    for locale, _ in found:
        if not LOCALE.fullmatch(locale):
            raise ValueError(f"{kind}.{locale} is no locale, such as en or de-AT")
    return found


def _read_text(kind: str, value: Any, where: str) -> MailText:
    text = _object(value, where)
    needed = {"subject", "heading", "paragraphs"} | ({"button"} if kind in ACTIONS else set())
    if missing := sorted(needed - text.keys()):
        raise ValueError(f"{where} lacks {missing[0]}")
    if unknown := sorted(text.keys() - needed):
        raise ValueError(f"{where} has no {unknown[0]}")
    lines = {
        name: _read_line(kind, text[name], f"{where}.{name}", limit) for name, limit in LENGTHS.items() if name in text
    }
    return MailText(paragraphs=_read_paragraphs(kind, text["paragraphs"], where), **lines)


def _read_paragraphs(kind: str, value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_PARAGRAPHS:
        raise ValueError(f"{where}.paragraphs must be 1 to {MAX_PARAGRAPHS} texts")
    return tuple(_read_line(kind, line, f"{where}.paragraphs", MAX_PARAGRAPH) for line in value)


def _read_line(kind: str, value: Any, where: str, limit: int) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= limit or CONTROL.search(value):
        raise ValueError(f"{where} must be a text of 1 to {limit} characters on one line")
    allowed = PLACEHOLDERS[kind]
    if any(name not in allowed for name in PLACEHOLDER.findall(value)):
        names = ", ".join(f"{{{name}}}" for name in sorted(allowed))
        raise ValueError(f"{where} has an unknown placeholder; there are {names}")
    if re.search(r"[{}]", PLACEHOLDER.sub("", value)):
        raise ValueError(f"{where} has a brace that belongs to no placeholder")
    return value
