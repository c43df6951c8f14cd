"""Body and answer of the endpoint that signs URLs of files."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

from service.bounds import MAX_SIGNED_URLS

HOUR, WEEK = 3_600, 604_800


def _whole(value: Any) -> Any:
    """In JSON Schema 60.0 is an integer, too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class UrlsForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    urls: Annotated[list[str], Field(max_length=MAX_SIGNED_URLS, description="URLs of files, signed or not")]
    expires_in: Annotated[
        int, Field(ge=1, le=WEEK, description="For how many seconds they shall be good"), BeforeValidator(_whole)
    ] = HOUR


class SignedUrls(TypedDict):
    urls: Annotated[dict[str, str], Field(description="Each URL as it was sent → the same with a new signature")]
