"""Secrets that stand in files, as containers are given theirs."""

import base64
from pathlib import Path

import pytest

from service.errors import ConfigurationError
from service.settings import read_settings

KEY = base64.b64encode(b"k" * 32).decode()


def test_a_secret_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    assert read_settings().secret == b"k" * 32


def test_a_variable_comes_before_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONGODB_URI_FILE", str(tmp_path / "absent"))
    monkeypatch.setenv("MONGODB_URI", "mongodb://db")
    uri = read_settings().mongodb_uri
    assert uri is not None
    assert uri.get_secret_value() == "mongodb://db"


def test_a_file_that_cannot_be_read_is_named_with_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "absent"))
    with pytest.raises(
        ConfigurationError, match=r"SECRET_KEY_FILE: .*absent cannot be read: No such file or directory"
    ):
        read_settings()
