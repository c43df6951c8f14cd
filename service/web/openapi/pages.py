"""The parameters of lists in the order of time, which are paged by cursor."""

from service.web.openapi.declaration import Parameter, Schema

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
TIME: Schema = {"type": "string", "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"}
PAGE_PARAMETERS = (
    Parameter(
        name="limit",
        description="Page size.",
        schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    ),
    Parameter(name="cursor", description="The `next` of the page before.", schema={"type": "string"}),
)
