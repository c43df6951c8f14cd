"""The texts of mails: every language has every text, and a project's own know a closed list of placeholders."""

import json
from typing import Any

import pytest

from service.domain.projects.settings import read_project_settings
from service.errors import ConfigurationError
from service.mail.letters import Occasion, write_letter
from service.mail.texts import ACTIONS, KINDS, LANGUAGES, find_text, read_language, read_texts

LINK = "https://auth.example/auth-collections/link?t=abc"
TEXT = {"subject": "Hi {email}", "heading": "Hello", "paragraphs": ["{code} for {minutes}"], "button": "Go"}


def occasion(kind: str, locale: str | None = None, **changes: Any) -> Occasion:
    proofs = {"code": "123456", "link": LINK, "minutes": 60} if kind in ACTIONS else {}
    return Occasion(
        **{"kind": kind, "to": "ann@example.com", "project": "Shop & Co", "locale": locale, **proofs, **changes}
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_language_writes_each_mail(kind: str, language: str) -> None:
    letter = write_letter(occasion(kind, language), {})
    assert f'lang="{language}"' in letter.html
    assert "{" not in letter.text
    assert ("123456" in letter.text, LINK in letter.text) == (kind in ACTIONS, kind in ACTIONS)
    assert ("123456" in letter.html, LINK in letter.html) == (kind in ACTIONS, kind in ACTIONS)
    assert "Shop &amp; Co" in letter.html


def test_each_language_has_the_same_texts() -> None:
    first = read_language("en")
    for name in LANGUAGES[1:]:
        other = read_language(name)
        assert other.texts.keys() == first.texts.keys()
        assert other.around.keys() == first.around.keys()


@pytest.mark.parametrize(
    ("locale", "begins"), [("de-AT", "Anmeldung"), ("fr", "Connexion"), ("xx", "Sign in"), (None, "Sign in")]
)
def test_a_locale_falls_back_to_its_language_and_then_to_english(locale: str | None, begins: str) -> None:
    assert write_letter(occasion("sign_in", locale), {}).subject.startswith(begins)


def test_a_projects_own_text_comes_first() -> None:
    own = read_texts({"sign_in": {"en": TEXT, "pt-BR": {**TEXT, "heading": "Olá"}}})
    assert find_text(own, "sign_in", "pt-BR").heading == "Olá"
    assert find_text(own, "sign_in", "en-GB").heading == "Hello"
    assert find_text(own, "sign_in", "de").heading != "Hello"
    assert find_text(own, "sign_in", "it").heading == "Hello"
    letter = write_letter(occasion("sign_in"), own)
    assert (letter.subject, "123456 for 60" in letter.text) == ("Hi ann@example.com", True)


def test_what_fills_a_placeholder_is_text() -> None:
    own = read_texts({"sign_in": {"en": {**TEXT, "heading": "{project}"}}})
    letter = write_letter(occasion("sign_in", project="<script>{{7*7}}{email}</script>"), own)
    assert "<script>" not in letter.html
    assert "&lt;script&gt;{{7*7}}{email}&lt;/script&gt;" in letter.html


BAD: list[tuple[Any, str]] = [
    ([], "must be an object"),
    ({"spam": {}}, "spam is no kind of mail"),
    ({"sign_in": {"english": TEXT}}, "sign_in.english is no locale"),
    ({"sign_in": {"en": {**TEXT, "button": None}}}, "sign_in.en.button must be a text"),
    ({"sign_in": {"en": {"subject": "a", "heading": "b", "paragraphs": ["c"]}}}, "sign_in.en lacks button"),
    ({"sign_in": {"en": {**TEXT, "html": "x"}}}, "sign_in.en has no html"),
    ({"sign_in": {"en": {**TEXT, "subject": "a\r\nBcc: b@example.com"}}}, "on one line"),
    ({"sign_in": {"en": {**TEXT, "subject": "{{7*7}}"}}}, "brace"),
    ({"sign_in": {"en": {**TEXT, "subject": "{user.password}"}}}, "brace"),
    ({"sign_in": {"en": {**TEXT, "paragraphs": ["{name}"]}}}, "unknown placeholder"),
    ({"sign_in": {"en": {**TEXT, "paragraphs": []}}}, "1 to 10 texts"),
    ({"password_changed": {"en": {"subject": "{code}", "heading": "b", "paragraphs": ["c"]}}}, "unknown placeholder"),
]


@pytest.mark.parametrize(("value", "message"), BAD, ids=[message for _, message in BAD])
def test_a_text_is_refused_when_it_is_set(value: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"MAIL_TEXTS.*{message}"):
        read_project_settings({"MAIL_TEXTS": json.dumps(value)})


def test_a_mail_about_ones_old_address_asks_for_approval() -> None:
    new, old = occasion("change_email"), occasion("change_email", code="")
    assert write_letter(new, {}).subject != write_letter(old, {}).subject
