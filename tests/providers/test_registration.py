"""The URLs to which the service sends requests and browsers: https, or http on this machine."""

import pytest

from service.providers import is_allowed_url

ROWS = [
    ("https://accounts.example.com", True),
    ("https://accounts.example.com:8443/a?b=c", True),
    ("http://127.0.0.1:9400/standard", True),
    ("http://localhost:9400/standard", True),
    ("http://[::1]:9400/", True),
    ("http://accounts.example.com", False),
    ("http://127.0.0.1.example.com", False),
    ("http://localhost.example.com", False),
    ("http://169.254.169.254/latest", False),
    ("ftp://accounts.example.com", False),
    ("file:///etc/passwd", False),
    ("javascript:alert(1)", False),
    ("//accounts.example.com", False),
    ("https://", False),
    ("https://user@accounts.example.com", False),
    ("https://accounts.example.com/#fragment", False),
    ("https://accounts.example.com:port/", False),
    ("https://[::1", False),
    ("https://accounts.example.com/\r\nx: y", False),
    ("https://accounts.example.com/a b", False),
    ("https://\u0430ccounts.example.com/", False),
]


@pytest.mark.parametrize(("url", "allowed"), ROWS, ids=[row[0] for row in ROWS])
def test_is_allowed_url(url: str, allowed: bool) -> None:
    assert is_allowed_url(url) is allowed


def test_a_remote_document_cannot_name_this_machine() -> None:
    assert is_allowed_url("https://accounts.example.com", loopback=False)
    assert not is_allowed_url("http://127.0.0.1:27017", loopback=False)
