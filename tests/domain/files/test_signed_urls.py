"""Signatures of files' URLs."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from service.domain.files.signed_urls import FileLink, FilePlace, UrlSigner
from service.domain.projects.secrets import derive_key

KEY = b"k" * 32
PLACE = FilePlace("demo", "demo-" + "0" * 32 + ".png", "6" * 24, "resume")


def signer(at: float = 10_000.0, key: bytes = KEY, window: int = 3_600) -> UrlSigner:
    return UrlSigner(key, window=window, clock=lambda: at)


def link_of(query: str) -> FileLink:
    return FileLink(**dict(parse_qsl(query.removeprefix("?"))))


def test_a_signature_has_one_form() -> None:
    assert re.fullmatch(r"\?expires=14400&signature=[A-Za-z0-9_-]{43}", signer().sign(PLACE))


@pytest.mark.parametrize(
    ("at", "expires"), [(7_200.0, 14_400), (7_200.5, 14_400), (10_799.9, 14_400), (10_800.0, 18_000)]
)
def test_a_link_lives_to_the_end_of_the_next_window(at: float, expires: int) -> None:
    assert link_of(signer(at).sign(PLACE)).expires == str(expires)


def test_a_link_lives_for_exactly_as_long_as_was_asked_for() -> None:
    assert link_of(signer(10_000.9).sign(PLACE, 5)).expires == "10005"


@pytest.mark.parametrize(("at", "left"), [(10_000.0, 5), (10_004.9, 1), (10_005.0, 0), (20_000.0, 0)])
def test_a_link_is_good_up_to_its_last_second(at: float, left: int) -> None:
    assert signer(at).seconds_left(PLACE, link_of(signer().sign(PLACE, 5))) == left


@pytest.mark.parametrize("part", ["project_id", "name", "owner", "field"])
def test_a_link_is_of_one_place(part: str) -> None:
    link = link_of(signer().sign(PLACE))
    assert signer().seconds_left(PLACE, link) > 0
    assert signer().seconds_left(replace(PLACE, **{part: "other"}), link) == 0


def test_what_one_part_ends_with_is_not_what_the_next_begins_with() -> None:
    link = link_of(signer().sign(FilePlace("p", "n", 'o","x', "f")))
    assert signer().seconds_left(FilePlace("p", "n", "o", 'x","f'), link) == 0


def test_another_key_signs_otherwise() -> None:
    link = link_of(signer().sign(PLACE))
    assert signer(key=b"o" * 32).seconds_left(PLACE, link) == 0


@pytest.mark.parametrize("expires", ["", "0", "-1", "014400", "1e9", "14400 ", "9" * 13, "१४४००", "\ud800"])
def test_an_end_that_is_no_plain_number_is_no_end(expires: str) -> None:
    genuine = link_of(signer().sign(PLACE))
    if expires.isascii():
        signature = signer()._signature(PLACE, expires)  # noqa: SLF001 - even with a right signature
        assert signer().seconds_left(PLACE, FileLink(expires, signature)) == 0
    else:
        assert signer().seconds_left(PLACE, replace(genuine, expires=expires)) == 0


def test_keys_of_two_purposes_are_two_keys() -> None:
    assert len(derive_key(KEY, "a")) == 32
    assert derive_key(KEY, "a") == derive_key(KEY, "a")
    assert len({derive_key(KEY, "a"), derive_key(KEY, "b"), derive_key(b"o" * 32, "a"), KEY}) == 4
