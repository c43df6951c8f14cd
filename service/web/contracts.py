"""A project's contract over HTTP: its OpenAPI document, and the types of its records."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_CONTRACT_COLLECTIONS
from service.contract.document import Base, write_document
from service.contract.model import Contract, View
from service.contract.python import write_python
from service.contract.typescript import write_typescript
from service.domain.access.caller import OperatorCaller, PublishableKeyCaller, SecretKeyCaller
from service.domain.contracts import WantedText
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import CollectionNotFound, Invalid, SecretKeyRequired, TooLarge, Violation
from service.query.parse import parse_pairs
from service.services import Services
from service.web.auth.authenticate import OUTSIDE_PUBLIC_API, Credential
from service.web.http.packed import answer_kept
from service.web.openapi.declaration import NOT_MODIFIED, TEXT, Content, Parameter, Success, Tag
from service.web.openapi.document import build_document
from service.web.openapi.endpoint import IN_PROJECT, endpoint

VIEWS = [each.value for each in View]
KeyCaller = SecretKeyCaller | PublishableKeyCaller | OperatorCaller


def read_query(
    request: Request, choices: Mapping[str, Collection[str]], *, free: Collection[str] = ()
) -> dict[str, str]:
    """The parameters, each one of its `choices`; those that are `free` have any value. Raises Invalid."""
    sent = dict(parse_pairs(request.scope["query_string"]))
    known = [*choices, *free]
    violations = [
        Violation(("query", name), f"This endpoint takes only {', '.join(known)}", "extra_forbidden")
        for name in sent
        if name not in known
    ]
    violations += [
        Violation(("query", name), f"Must be one of {', '.join(values)}", "enum")
        for name, values in choices.items()
        if name in sent and sent[name] not in values
    ]
    if violations:
        raise Invalid(violations)
    return sent


def choose_view(caller: KeyCaller, sent: Mapping[str, str]) -> View:
    """The view that a key may ask for, which is its own by default. Raises SecretKeyRequired."""
    own = View.ANYONE if isinstance(caller, PublishableKeyCaller) else View.SERVER
    view = View(sent.get("view", own.value))
    if view is not own and own is View.ANYONE:
        raise SecretKeyRequired
    return view


def read_names(sent: Mapping[str, str]) -> frozenset[str] | None:
    """The names in `collections`; None without it. Raises Invalid."""
    if "collections" not in sent:
        return None
    names = sent["collections"].split(",")
    if len(names) > MAX_CONTRACT_COLLECTIONS:
        raise Invalid.one(("query", "collections"), f"Name at most {MAX_CONTRACT_COLLECTIONS} collections")
    if "" in names or len(set(names)) < len(names):
        raise Invalid.one(("query", "collections"), "Name each collection once, separated by commas")
    return frozenset(names)


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
with_key = partial(endpoint, credential=Credential.ANY_KEY, policy=DAILY, tag=Tag.CONTRACT)
by_operator = partial(
    endpoint, credential=Credential.OPERATOR_IN_PROJECT, operator=Access("schema", "read"), tag=Tag.CONTRACT
)
H = TypeVar("H", bound=Callable[..., Any])


def of_contract(name: str, operation_id: str, **columns: Any) -> Callable[[H], H]:
    """Declares the handler below it for the keys of a project, and for the operators that may read its schemas."""

    def declare(handler: H) -> H:
        with_key(f"GET /api/{name}", operation_id=operation_id, **columns)(handler)
        by_operator(f"GET {IN_PROJECT}/{name}", operation_id=f"{operation_id}InProject", **columns)(handler)
        return handler

    return declare


@of_contract(
    "openapi.json",
    "projectDocument",
    description="The service's own document, less what the callers of the view cannot call, with typed operations for each "
    "collection.",
    parameters=(
        VIEW,
        Parameter(
            name="collections",
            description=f"At most {MAX_CONTRACT_COLLECTIONS} names, separated by commas: the document has these alone.",
            schema={"type": "string", "minLength": 1},
        ),
        IF_NONE_MATCH,
    ),
    answer=(Success("An OpenAPI 3.1 document", headers=KNOWN, content=(Content(type=dict[str, Any]),)), NOT_MODIFIED),
    errors=(SecretKeyRequired, CollectionNotFound, TooLarge),
)
async def project_document(request: Request, caller: KeyCaller, services: Services) -> Response:
    """The OpenAPI document of the project."""
    sent = read_query(request, {"view": VIEWS}, free=("collections",))
    view, names = choose_view(caller, sent), read_names(sent)

    def write(contract: Contract) -> bytes:
        return write_document(contract, Base(find_document(request), services.base.base_url), view, names)

    kind = f"openapi/{','.join(sorted(names or ()))}"
    text = await services.contracts.find(caller.project, WantedText(kind, view, write, names or frozenset()))
    return answer_kept(request, text, {"content-type": "application/json"})


def find_document(request: Request) -> dict[str, Any]:
    """The service's own document, which is built once: in the thread of contracts, for it takes long."""
    state = request.app.state
    document = getattr(state, "document", None)
    if document is None:
        routes = (route for route in request.app.routes if route.credential not in OUTSIDE_PUBLIC_API)
        document = state.document = build_document(routes)
    found: dict[str, Any] = document
    return found


@of_contract(
    "types",
    "generatedTypes",
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

    text = await services.contracts.find(caller.project, WantedText(sent["language"], view, encode))
    return answer_kept(
        request,
        text,
        {"content-type": "text/plain; charset=utf-8", "content-disposition": f'attachment; filename="{file_name}"'},
    )
