"""SMTP_URL and MAIL_FROM: what is read of them, and what is refused without repeating a password."""

import pytest

from service.domain.projects.settings import read_project_settings
from service.errors import ConfigurationError
from service.mail.servers import MailServer, read_sender, read_server

GOOD = {
    "smtp://mail.example": MailServer("mail.example", 587),
    "smtp://u:p%40s@mail.example:2525": MailServer("mail.example", 2525, "u", "p@s"),
    "smtps://mail.example": MailServer("mail.example", 465, is_tls=True),
    "smtp://127.0.0.1:1025": MailServer("127.0.0.1", 1025, needs_tls=False),
    "smtp://[::1]:1025": MailServer("::1", 1025, needs_tls=False),
    "smtp://localhost:25?tls=required": MailServer("localhost", 25),
}


@pytest.mark.parametrize(("url", "server"), GOOD.items(), ids=GOOD)
def test_a_server_is_read(url: str, server: MailServer) -> None:
    assert read_server(url) == server


BAD = (
    *("http://mail.example", "smtp://", "smtp://mail.example/inbox", "smtp://mail.example:99999"),
    *("smtp://user@mail.example", "smtp://:secret@mail.example", "smtp://mail.example?tls=no", "smtp://a b"),
    *("smtp://u:secret@mail.example\r\nx", "mail.example"),
)


@pytest.mark.parametrize("url", BAD)
def test_a_bad_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^SMTP_URL: ") as refused:
        read_project_settings({"SMTP_URL": url})
    assert "secret" not in str(refused.value)


def test_a_sender_has_a_name_or_not() -> None:
    named = read_sender("Shöp <no-reply@shop.example>")
    assert (named.display_name, named.addr_spec) == ("Shöp", "no-reply@shop.example")
    assert read_sender("a@shop.example").display_name == ""


@pytest.mark.parametrize("text", ["", "Shop", "a@", "a@b c", "Shop <a@b.example>\r\nBcc: x@y.example", "a b@c.example"])
def test_a_bad_sender_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be an address"):
        read_sender(text)
