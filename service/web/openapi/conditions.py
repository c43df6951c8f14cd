"""Conditions of requests on a record's version, and the header with the version."""

from service.web.openapi.declaration import Parameter, SuccessResponse

# Without examples: a page that fills them in would send them, and be refused.
ETAG = {"ETag": "The version of the record, for If-Match and If-None-Match"}
IF_MATCH = Parameter(
    name="If-Match",
    location="header",
    description='The `ETag` that was read, such as `"v17"`: nothing is changed unless it is still that of the record.',
    schema={"type": "string"},
)
IF_NONE_MATCH = Parameter(
    name="If-None-Match",
    location="header",
    description='The `ETag` that was read, such as `"v17"`: 304 without a body where it is still that of the record.',
    schema={"type": "string"},
)
NOT_MODIFIED = SuccessResponse(status=304, description="The client has it", headers=ETAG)
