"""Passwords in bodies."""

from typing import Annotated

from pydantic import Field

from service.domain.accounts.password_hashes import MAX_PASSWORD_BYTES
from service.domain.projects.settings import ProjectSettings

MIN_PASSWORD = ProjectSettings.model_fields["password_min_length"].default

Password = Annotated[str, Field(json_schema_extra={"format": "password"})]
# The project judges the length, by its setting.
NewPassword = Annotated[
    str,
    Field(
        description=f"At least {MIN_PASSWORD} characters, unless the project's PASSWORD_MIN_LENGTH is another number, and "
        f"at most {MAX_PASSWORD_BYTES} bytes in UTF-8; PASSWORD_CHECK may refuse common ones",
        json_schema_extra={
            "format": "password",
            "minLength": MIN_PASSWORD,
            "maxLength": MAX_PASSWORD_BYTES,
            "pattern": r"^[^\x00]*$",
        },
    ),
]
