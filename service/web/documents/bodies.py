"""What the endpoints of documents read and answer: specification section 2.3."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from service.domain.lists import Listing
from service.web.openapi.shapes import Data, Id, Limit, Offset, ShownAs, Time, Total


class DocumentForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    data: Annotated[dict[str, Any], ShownAs(Data)]


class Document(TypedDict):
    id: Id
    data: Data
    created_at: Time
    updated_at: Time


class DocumentList(TypedDict):
    documents: list[Document]
    total: Total
    limit: Limit
    offset: Offset


def document_view(document: Mapping[str, Any]) -> Document:
    return {
        "id": document["_id"],
        "data": document["data"],
        "created_at": document["created_at"],
        "updated_at": document["updated_at"],
    }


def list_view(listing: Listing) -> DocumentList:
    documents = [document_view(record) for record in listing.rows]
    return {"documents": documents, "total": listing.total, "limit": listing.limit, "offset": listing.offset}
