"""The project's rules for new passwords. Pure, but for the list of common ones, which is read when first asked."""

from functools import cache
from importlib.resources import files

from service.domain.accounts.password_hashes import MAX_PASSWORD_BYTES
from service.domain.projects.settings import ProjectSettings
from service.errors import Location, Violation

COMMON = "This password is too common"
NAMED = "Password must not be the e-mail address, the part before its @, or the project's name"


def check_password(
    password: str,
    settings: ProjectSettings,
    project: str,
    email: str | None = None,
    loc: Location = ("body", "password"),
) -> list[Violation]:
    """The rules that a new password breaks. `project` is its name; `email` the user's, where it is known already."""
    if violations := check_length(password, settings.password_min_length, loc):
        return violations
    if not settings.refuses_common:
        return []
    if _is_any(password, [project, *_names(email)]):
        return [Violation(loc, NAMED, "password_named")]
    return [Violation(loc, COMMON, "password_common")] if is_common(password) else []


def check_length(password: str, min_length: int, loc: Location = ("body", "password")) -> list[Violation]:
    """bcrypt reads no further than 72 bytes: more would be for show."""
    if len(password) < min_length:
        return [Violation(loc, f"Password must have at least {min_length} characters", "string_too_short")]
    if len(password.encode()) > MAX_PASSWORD_BYTES:
        return [Violation(loc, f"Password must have at most {MAX_PASSWORD_BYTES} bytes in UTF-8", "string_too_long")]
    if "\0" in password:
        return [Violation(loc, "Password must not contain a NUL character", "value_error")]
    return []


def is_common(password: str) -> bool:
    """True if the list has it, in any case of letters."""
    return "\n" not in password and f"\n{password.casefold()}\n".encode() in _common()


def _names(email: str | None) -> list[str]:
    return [email, email.rpartition("@")[0]] if email else []


def _is_any(password: str, names: list[str]) -> bool:
    return password.casefold() in {name.casefold() for name in names}


@cache
def _common() -> bytes:
    """The entries between line breaks, as they are searched: a tenth of the memory of a set."""
    return (files("service.domain.accounts") / "common" / "passwords.txt").read_bytes()
