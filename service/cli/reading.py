"""Rows of the Admin API that a command reads and prints as text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from service.cli.runtime import run_command
from service.errors import ConfigurationError

if TYPE_CHECKING:
    from service.services import Services

FAILED = 400


def read_row(path: str, query: Mapping[str, str | None]) -> Any:
    """The body of `GET path`, without parameters that are None. Raises ConfigurationError for a refusal."""
    import orjson

    found = bytearray()

    async def work(services: "Services") -> int:
        from service.cli.asking import ask

        given = {name: value for name, value in query.items() if value is not None}
        return await ask(services, "GET", path, given, None, found.extend)

    status = run_command(work, only_reads=True)
    body = orjson.loads(bytes(found))
    if status >= FAILED:
        raise ConfigurationError(_describe(body["detail"]))
    return body


def _describe(detail: Any) -> str:
    """The refusal as one line; of a refused query, its first violation."""
    if isinstance(detail, str):
        return detail
    return f"{detail[0]['loc'][-1]}: {detail[0]['msg']}"
