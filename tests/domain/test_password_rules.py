"""Which passwords a project takes, and the list of common ones."""

import hashlib
import subprocess
import sys
from importlib.resources import files

import pytest

from service.domain.accounts.password_rules import check_password, is_common
from service.domain.projects.settings import read_project_settings

FOLDER = files("service.domain.accounts") / "common"
COMMON = read_project_settings({"PASSWORD_CHECK": "common"})


def broken(password: str, email: str | None = "ann.lee@example.com") -> list[str]:
    return [each.type for each in check_password(password, COMMON, "Bright Lamps", email)]


@pytest.mark.parametrize("password", ["password1", "PASSWORD1", "PassWord1", "qwertyuiop", "12345678", "iloveyou2"])
def test_a_common_password_is_refused_in_whatever_case(password: str) -> None:
    assert broken(password) == ["password_common"]


@pytest.mark.parametrize("password", ["ann.lee@example.com", "ANN.LEE@example.com", "Ann.Lee", "bright lamps"])
def test_the_address_its_local_part_and_the_projects_name_are_refused(password: str) -> None:
    settings = read_project_settings({"PASSWORD_CHECK": "common", "PASSWORD_MIN_LENGTH": "7"})
    found = check_password(password, settings, "Bright Lamps", "ann.lee@example.com")
    assert [each.type for each in found] == ["password_named"]


@pytest.mark.parametrize(
    "password", ["correct horse", "password1 and more", "sword1\npassw", "password1\n", "example.com"]
)
def test_what_is_equal_to_none_is_taken(password: str) -> None:
    assert broken(password) == []


def test_the_length_is_told_first() -> None:
    assert broken("pass") == ["string_too_short"]


def test_nothing_is_refused_without_the_setting() -> None:
    assert check_password("password1", read_project_settings({}), "password1", "password1@example.com") == []


def test_the_list_is_what_was_recorded_and_every_entry_is_found() -> None:
    origin, *lines = (FOLDER / "VENDORED").read_text().splitlines()
    assert origin.startswith("zxcvbn ")
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest
    passwords = (FOLDER / "passwords.txt").read_text().split("\n")[1:-1]
    assert len(passwords) == len(set(passwords)) == 11_611
    assert min(map(len, passwords)) == 8
    assert all(is_common(password) for password in passwords[::97])


def test_the_list_is_read_when_first_asked() -> None:
    code = (
        "import service.app; from service.domain.accounts import password_rules as rules;"
        "before = rules._common.cache_info().currsize; rules.is_common('password1');"
        "print(before, rules._common.cache_info().currsize)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert done.stdout.split() == ["0", "1"]
