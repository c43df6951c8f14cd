"""Codes of authenticator apps, by the vectors of RFC 6238 (appendix B), cut to six digits."""

from base64 import b32encode
from urllib.parse import parse_qs, urlsplit

import pytest

from service.domain.accounts import factor_codes
from service.domain.accounts.factor_codes import hash_code, new_codes

SECRET = b32encode(b"12345678901234567890").decode()
VECTORS = [
    (59, "287082"),
    (1111111109, "081804"),
    (1111111111, "050471"),
    (1234567890, "005924"),
    (2000000000, "279037"),
]


@pytest.mark.parametrize(("moment", "code"), VECTORS)
def test_codes_are_those_of_the_rfc(moment: int, code: str) -> None:
    assert factor_codes.code_at(SECRET, moment) == code
    assert factor_codes.find_step(SECRET, code, moment) == moment // 30
    assert factor_codes.find_step(SECRET, f"{code[:3]} {code[3:]}", moment) == moment // 30


def test_a_code_is_good_one_step_around() -> None:
    moment, step = 1111111111, 1111111111 // 30
    code = factor_codes.code_at(SECRET, moment)
    around = [factor_codes.find_step(SECRET, code, (step + late) * 30) for late in (-2, -1, 0, 1, 2)]
    assert around == [None, step, step, step, None]


@pytest.mark.parametrize(
    "text", ["", "28708", "2870820", "abcdef", "\uff12\uff18\uff17\uff10\uff18\uff12", "28708\n", "-87082", "\ud800"]
)
def test_what_is_no_code_is_none(text: str) -> None:
    assert factor_codes.find_step(SECRET, text, 59) is None


def test_the_uri_says_what_apps_read() -> None:
    parts = urlsplit(factor_codes.describe(SECRET, "Ann & Bob: shop?", "ann+x@example.com"))
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert parts.path == "/Ann%20%26%20Bob%20%20shop%3F:ann%2Bx@example.com"
    assert parse_qs(parts.query) == {
        "secret": [SECRET],
        "issuer": ["Ann & Bob  shop?"],
        "algorithm": ["SHA1"],
        "digits": ["6"],
        "period": ["30"],
    }
    assert "+" not in parts.query


def test_recovery_codes_have_120_bits_and_are_read_as_people_write_them() -> None:
    codes = new_codes()
    assert len(set(codes)) == 10
    assert all(len(code.replace("-", "")) == 24 for code in codes)
    code = codes[0]
    assert {hash_code(each) for each in (code, code.lower(), code.replace("-", ""), code.replace("-", " "))} == {
        hash_code(code)
    }
    assert hash_code(code) != hash_code(codes[1])
