"""What the endpoints of documents read and answer: specification section 2.3."""

from typing import Annotated, Any, NotRequired

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from service.domain.documents.documents import Document as StoredDocument
from service.domain.documents.documents import Page
from service.domain.documents.permitted import HiddenDocument, Written
from service.web.openapi.shapes import Data, Id, Limit, Offset, ShownAs, Time, Total, Version


class DocumentForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    data: Annotated[dict[str, Any], ShownAs(Data)]


class Document(TypedDict):
    id: Id
    data: Data
    created_at: Time
    updated_at: Time
    version: Version


class WrittenDocument(TypedDict):
    """A document after a write; its `id` alone where rules do not let its writer read it."""

    id: Id
    data: NotRequired[Data]
    created_at: NotRequired[Time]
    updated_at: NotRequired[Time]
    version: NotRequired[Version]


class DocumentList(TypedDict):
    documents: list[Document]
    total: Total
    limit: Limit
    offset: Offset


def document_view(document: StoredDocument) -> Document:
    return {
        "id": document.id,
        "data": document.data,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "version": document.version,
    }


def written_view(written: Written) -> Document | WrittenDocument:
    return {"id": written.id} if isinstance(written, HiddenDocument) else document_view(written)


def written_version(written: Written) -> int | None:
    return None if isinstance(written, HiddenDocument) else written.version


def list_view(page: Page) -> DocumentList:
    documents = [document_view(document) for document in page.documents]
    return {"documents": documents, "total": page.total, "limit": page.limit, "offset": page.offset}
