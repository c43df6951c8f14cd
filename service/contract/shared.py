"""Parameters and answers that the typed operations of all collections share, as components of a document. Pure."""

from typing import Any

from service.contract.json_types import ref

# Examples of the service's own document are about its demo, and no values for another schema.
EXAMPLES = ("example", "examples")
PREFIX = "#/components"
# Its own schema lists the broken rules.
VALIDATION = "422"


class Shared:
    """The components so far, by their names."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}
        self.responses: dict[str, Any] = {}

    def parameter(self, operation: str, parameter: Any) -> Any:
        """A reference to a parameter of a generic operation."""
        name = f"{operation}.{parameter['name']}"
        self.parameters[name] = {key: value for key, value in parameter.items() if key not in EXAMPLES}
        return {"$ref": f"{PREFIX}/parameters/{name}"}

    def response(self, operation: str, status: str, response: Any) -> Any:
        """A reference to an answer of a generic operation."""
        name = f"{operation}.{status}"
        self.responses[name] = _with_one_schema(status, response)
        return {"$ref": f"{PREFIX}/responses/{name}"}


def _with_one_schema(status: str, response: Any) -> Any:
    """The answer of an error by its shared schema: a made client has a type for each schema that stands in an answer."""
    if status < "400" or status == VALIDATION:
        return response
    content = {kind: {**each, "schema": ref("Error")} for kind, each in response["content"].items()}
    return {**response, "content": content}
