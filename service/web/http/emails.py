"""Addresses in bodies: one form for all that read one."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from service.domain.accounts.emails import normalize_email


def _email(text: str) -> str:
    try:
        return normalize_email(text)
    except ValueError as error:
        reason = str(error)
    raise PydanticCustomError("value_error", "value is not a valid email address: {reason}", {"reason": reason})


EmailText = Annotated[str, Field(json_schema_extra={"format": "email", "examples": ["ann@example.com"]})]
Email = Annotated[EmailText, AfterValidator(_email)]
