"""The document's description of an endpoint: its parameters, body, answers and errors. Knows no endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from service.errors import ServiceError

Schema = Mapping[str, Any]
# Values by their titles.
Examples = Mapping[str, Any]
JSON = "application/json"


class Tag(Enum):
    """The groups of endpoints, in the order in which a reader meets them: a title, and what they are for."""

    ACCOUNTS = "Accounts", "Sign up, log in, and the profile of the user who is logged in."
    SIGN_IN = "Sign-in", "Sign in through the project's identity provider, over OAuth 2.0."
    MAILS = "Mails", "Prove an address and recover an account by mail, and look at the mails themselves."
    SESSIONS = "Sessions", "Refresh a user token, end sessions and list them."
    FACTORS = "Second factors", "Add second factors, sign in with them, and step up."
    USERS = "Users", "List and query a project's users."
    COLLECTIONS = "Collections", "Declare containers for documents, each with a schema that the database enforces."
    DOCUMENTS = "Documents", "Create, query and change the documents of a collection."
    AGGREGATIONS = (
        "Aggregations",
        "Group documents or users, and compute counts, sums and the like; save such questions.",
    )
    CHANGES = "Changes", "Read what was written, in order, from the project's feed."
    CONTRACT = "Contract", "A project's own OpenAPI document, and types of its records for TypeScript and Python."
    ACCESS = "Access", "Say who may do what, and learn why."
    FILES = "Files", "Read what users uploaded, and sign URLs of it."
    OPERATIONS = "Operations", "For those who run the service."
    OPERATORS = "Operators", "Sign in to the console, and administer those who run the deployment."
    PROJECTS = "Projects", "Make, configure and delete projects."
    DOCUMENTATION = "Documentation", "This document, and the page that shows it."

    def __init__(self, title: str, meaning: str) -> None:
        self.title, self.meaning = title, meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the query or a header. One whose schema is an object stands for any number of parameters.

    An `example` is what the form begins with; of `examples`, by title, the first is, and the others can be chosen.
    """

    name: str
    description: str
    schema: Schema
    location: str = "query"
    example: Any = None
    examples: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One media type of a body or an answer: a declared type, or `schema` where it is not JSON.

    `examples` maps a title to a value; `encoding` is for multipart parts.
    """

    type: Any = None
    schema: Schema = field(default_factory=dict)
    examples: Examples = field(default_factory=dict)
    media_type: str = JSON
    encoding: Schema | None = None


TEXT: Schema = {"type": "string"}
HTML = Content(schema=TEXT, media_type="text/html")


@dataclass(frozen=True, slots=True)
class Success:
    """A success: its meaning, examples of its JSON, and its headers, each with a description.

    The status and the type of the JSON stand in the handler's signature. `status` and `content` are for answers that are
    no JSON.
    """

    description: str
    examples: Examples = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = field(default=200, kw_only=True)
    content: tuple[Content, ...] = field(default=(), kw_only=True)


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
NOT_MODIFIED = Success(status=304, description="The client has it", headers=ETAG)


class ErrorExample:
    """An error with the arguments of an example. A shared instance of the error would keep the frames of each raise."""

    def __init__(self, kind: type[ServiceError], *arguments: Any) -> None:
        self.status = kind.status
        self._kind = kind
        self._arguments = arguments

    def body(self) -> dict[str, Any]:
        return self._kind(*self._arguments).body()


Failure = type[ServiceError] | ErrorExample


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint. The summary is the handler's docstring; what every endpoint of a credential shares is added.

    `path_parameters` describe those of the path that no other endpoint has. `needs_body` is False where one may be left out.
    """

    id: str
    tag: Tag
    answers: tuple[Success, ...]
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: tuple[Content, ...] = ()
    needs_body: bool = True
    errors: tuple[Failure, ...] = ()
    path_parameters: Mapping[str, Schema] = field(default_factory=dict)
