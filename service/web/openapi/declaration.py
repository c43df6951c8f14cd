"""What a route declares of itself: its credential, parameters, body, answers and errors. Knows no endpoint."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.errors import ServiceError

Schema = Mapping[str, Any]
Handler = Callable[[Request], Awaitable[Response]]
JSON = "application/json"


class Credential(Enum):
    """Which credential an endpoint takes; the value is the name of its security scheme."""

    NONE = "none"
    OPTIONAL_API_KEY = "optional"
    API_KEY = "apiKey"
    METRICS_TOKEN = "metricsToken"  # noqa: S105 - the name of a scheme
    USER_TOKEN = "userToken"  # noqa: S105 - the name of a scheme


@dataclass(frozen=True, slots=True)
class Component:
    """A schema that stands once in the document, under its name, and is referred to elsewhere."""

    name: str
    schema: Schema

    @property
    def ref(self) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/{self.name}"}


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
    """One media type of a body or an answer. `examples` maps a title to a value; `encoding` is for multipart parts."""

    schema: Component | Schema
    examples: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = JSON
    encoding: Schema | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessResponse:
    """A success: its status, what it means, and its content in each media type. `headers` maps a name to a description."""

    status: int = 200
    description: str
    content: tuple[Content, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint. The summary is the handler's docstring; what every endpoint of a credential shares is added.

    HEAD goes where GET goes, unless `takes_head` says that asking changes something. `components` are schemas that others
    refer to; `path_parameters` describe those of the path that no other endpoint has.
    """

    id: str
    tag: str
    answers: tuple[SuccessResponse, ...]
    credential: Credential = Credential.NONE
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: tuple[Content, ...] = ()
    errors: tuple[type[ServiceError] | ServiceError, ...] = ()
    takes_head: bool = True
    components: tuple[Component, ...] = ()
    path_parameters: Mapping[str, Schema] = field(default_factory=dict)


class ApiRoute(Route):
    """A route and its declaration: one cannot be made without the other."""

    def __init__(self, method: str, path: str, handler: Handler, operation: Operation) -> None:
        super().__init__(path, handler, methods=[method])
        if self.methods and not operation.takes_head:
            self.methods = self.methods - {"HEAD"}
        self.method = method
        self.operation = operation
