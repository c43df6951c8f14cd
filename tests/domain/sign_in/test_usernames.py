"""User names made of the names that providers give."""

import pytest

from service.domain.sign_in.linking import username

USER_ID = "6560f1c2a1b2c3d4e5f60718"
ROWS = [
    ("two words", "Ada Lovelace", "ada_lovelace"),
    ("marks", "Björn Ångström", "bjorn_angstrom"),
    ("marks written apart", "Bjo\u0308rn", "bjorn"),
    ("apostrophes", "Conan O'Brien D\u2019Arcy", "conan_obrien_darcy"),
    ("hyphens and dots", "Jean-Luc P. Picard", "jean_luc_p_picard"),
    ("sharp s", "Groß", "gross"),
    ("letters with strokes", "Łukasz Øst Đorđe Æsir Þór", "lukasz_ost_dorde_aesir_thor"),
    ("turkish", "\u0130brahim \u0131rmak", "ibrahim_irmak"),
    ("full width", "\uff21\uff42\uff43 \uff11", "abc_1"),
    ("ligature", "\ufb01nn", "finn"),
    ("cyrillic stays", "Иван Соколовский", "иван_соколовский"),
    ("japanese stays", "がくと 山田", "がくと_山田"),
    ("korean stays", "김 철수", "김_철수"),
    ("spaces and underscores", "  __ada__  b ", "ada_b"),
    ("symbols only", "★ !!", "6560f1c2"),
    ("control characters", "a\u0000b\r\nc", "a_b_c"),
    ("markup", "<script>$ne</script>", "script_ne_script"),
    ("empty", "", "6560f1c2"),
    ("absent", None, "6560f1c2"),
    ("long", "x" * 63 + " yz", "x" * 63),
]


@pytest.mark.parametrize(("name", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_username(name: str | None, expected: str) -> None:
    assert username(name, USER_ID) == expected
