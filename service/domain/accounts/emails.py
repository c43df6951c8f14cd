"""E-mail addresses: one form for storing, comparing and looking up, at signup, login and from a provider."""

from email_validator import EmailNotValidError, validate_email

from service.schema.values import CONTROL

MAX_EMAIL = 254  # RFC 5321 section 4.5.3.1.3, less the angle brackets.


def normalize_email(text: str) -> str:
    """`" Bob@X.com "` → `bob@x.com`. Raises ValueError whose message says what is wrong with the address.

    Reserved domains such as example.test are accepted: whether mail arrives there is not for a signup to decide.
    """
    if CONTROL.search(text):
        raise ValueError("The email address contains control characters.")
    text = text.strip(" ")
    if len(text) > MAX_EMAIL:
        raise ValueError(f"The email address has more than {MAX_EMAIL} characters.")
    try:
        email = validate_email(text, check_deliverability=False, test_environment=True, strict=True).normalized.lower()
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    if len(email) > MAX_EMAIL:
        raise ValueError(f"The email address has more than {MAX_EMAIL} characters.")
    return email
