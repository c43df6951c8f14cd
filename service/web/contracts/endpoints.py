"""A project's contract over HTTP: the types of its records."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from service.contract.model import Contract
from service.contract.python import write_python
from service.contract.typescript import write_typescript
from service.domain.contracts.contracts import Wanted
from service.domain.limits.policies import DAILY
from service.errors import Invalid, SecretKeyRequired, TooLarge
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.contracts.query import VIEWS, KeyCaller, choose_view, read_query
from service.web.http.packed import answer_kept
from service.web.openapi.declaration import NOT_MODIFIED, TEXT, Content, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint

LANGUAGES = {"typescript": (write_typescript, "schema.ts"), "python": (write_python, "schema.py")}
KNOWN = {"ETag": "The SHA-256 of the bytes before they are packed, for If-None-Match"}
VIEW = Parameter(
    name="view",
    description="The callers that it is for: `server` has everything, `users` what some signed-in user can reach, "
    "`anyone` what a guest can. A secret key chooses, and has `server` by default; a publishable key has `anyone`.",
    schema={"type": "string", "enum": VIEWS},
)
IF_NONE_MATCH = Parameter(
    name="If-None-Match",
    location="header",
    description="The `ETag` of the text that the client has: 304 without a body where it is still the same.",
    schema={"type": "string"},
)
of_contract = partial(endpoint, credential=Credential.ANY_KEY, policy=DAILY, tag=Tag.CONTRACT)


@of_contract(
    "GET /api/types",
    operation_id="generatedTypes",
    description="The text depends on the schemas, on the rules and on the format alone: two projects with equal ones have "
    "equal bytes.",
    parameters=(
        Parameter(
            name="language",
            description="The language of the types.",
            schema={"type": "string", "enum": [*LANGUAGES]},
            required=True,
        ),
        VIEW,
        IF_NONE_MATCH,
    ),
    answer=(
        Success("The text of a module", headers=KNOWN, content=(Content(schema=TEXT, media_type="text/plain"),)),
        NOT_MODIFIED,
    ),
    errors=(SecretKeyRequired, TooLarge),
)
async def generated_types(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Types of the project's records, for the client libraries."""
    sent = read_query(request, {"language": LANGUAGES, "view": VIEWS})
    if "language" not in sent:
        raise Invalid.one(("query", "language"), "Field required", type_="missing")
    view, (write, file_name) = choose_view(caller, sent), LANGUAGES[sent["language"]]

    def encode(contract: Contract) -> bytes:
        return write(contract).text.encode()

    text = await services.contracts.find(caller.project, Wanted(sent["language"], view, encode))
    return answer_kept(
        request,
        text,
        {"content-type": "text/plain; charset=utf-8", "content-disposition": f'attachment; filename="{file_name}"'},
    )
