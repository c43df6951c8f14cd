"""Bodies of multipart/form-data: one part `data`, and files."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from service.bounds import MAX_FILES
from service.web.openapi.declaration import JSON, Content

File = Annotated[bytes, WithJsonSchema({"type": "string", "format": "binary"})]


class Form(BaseModel):
    """A form is read part by part, see `web/http/multipart`; this says what the parts are."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"maxProperties": MAX_FILES + 1})
    __pydantic_extra__: dict[str, File]


def form_content(form: type[Form]) -> Content:
    return Content(type=form, media_type="multipart/form-data", encoding={"data": {"contentType": JSON}})
