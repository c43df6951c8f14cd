"""The declaration of web/batches."""

from service.bounds import MAX_BATCH
from service.errors import (
    CollectionNotFound,
    ConditionFailed,
    DocumentNotFound,
    DuplicateValue,
    Forbidden,
    UserNotFound,
    VersionConflict,
)
from service.web.batches.bodies import BatchForm, BatchResults
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, SuccessResponse

LINE = {"order_id": {"$id": "o"}, "sku": "abc"}
EXAMPLE = {
    "operations": [
        {"op": "create", "collection": "orders", "as": "o", "data": {"city": "Paris"}},
        {"op": "create", "collection": "lines", "data": LINE},
        {
            "op": "update",
            "collection": "products",
            "id": shapes.EXAMPLE_ID,
            "increment": {"stock": -1},
            "where": {"stock_gte": 1},
        },
    ]
}
DOCUMENT = {
    "id": shapes.EXAMPLE_ID,
    "data": {"city": "Paris"},
    "created_at": shapes.EXAMPLE_TIME,
    "updated_at": shapes.EXAMPLE_TIME,
    "version": 1,
}
FAILED = {"status": 404, "error": {"detail": DocumentNotFound.detail, "code": DocumentNotFound.code}}

RUN = Operation(
    id="runBatch",
    tag=tags.DOCUMENTS,
    description=f"Up to {MAX_BATCH} operations, each as it is alone, by the rules of its collection. With `atomic`, the "
    "default, all are done or none; the answer to a failure is that of the operation, with its position in `operation`. "
    "Counts as so many requests.",
    body=(Content(type=BatchForm, examples={"an order": EXAMPLE}),),
    answers=(
        SuccessResponse(
            description="What came of each operation",
            content=(
                Content(
                    type=BatchResults,
                    examples={
                        "done": {"results": [{"status": 201, "document": DOCUMENT}, {"status": 204}]},
                        "not atomic": {"results": [{"status": 201, "document": DOCUMENT}, FAILED]},
                    },
                ),
            ),
        ),
    ),
    errors=(
        CollectionNotFound,
        ConditionFailed,
        DocumentNotFound,
        UserNotFound,
        ErrorExample(DuplicateValue, "data.title"),
        Forbidden,
        ErrorExample(VersionConflict, '"v18"'),
    ),
)
