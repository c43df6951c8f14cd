"""A server that changes its role closes its connections, in the middle of what it is asked."""

from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure

from service.embedded.replica_set import NOT_YET_INITIALIZED, await_primary, reconfigure
from service.errors import ConfigurationError

CONFIG: dict[str, Any] = {"_id": "embedded", "version": 2, "members": [{"_id": 0, "host": "127.0.0.1:1"}]}
NOT_YET = OperationFailure("No replica set config has been received", NOT_YET_INITIALIZED)


class Server:
    """Answers each command with the next of `answers`, the last one for ever; raises those that are errors."""

    def __init__(self, *answers: dict[str, Any] | Exception) -> None:
        self.admin = self
        self.answers = list(answers)
        self.asked: list[str] = []

    def command(self, name: str, *_: Any, **__: Any) -> dict[str, Any]:
        self.asked.append(name)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_connection_that_ends_while_the_set_is_changed_is_no_failure() -> None:
    server: Any = Server(NOT_YET, AutoReconnect("connection closed"), {"ok": 1})
    reconfigure(server, CONFIG)
    assert server.asked == ["replSetReconfig"] * 3


@pytest.mark.parametrize("error", [NOT_YET, AutoReconnect("connection closed")])
def test_a_set_that_cannot_be_changed_in_time_is_a_failure(error: Exception) -> None:
    server: Any = Server(error)
    with pytest.raises(type(error)):
        reconfigure(server, CONFIG, seconds=0)


def test_what_is_wrong_with_the_change_itself_is_not_tried_again() -> None:
    server: Any = Server(OperationFailure("The version is too low", 103))
    with pytest.raises(OperationFailure, match="version"):
        reconfigure(server, CONFIG)
    assert len(server.asked) == 1


def test_a_connection_that_ends_while_the_server_becomes_primary_is_no_failure() -> None:
    server: Any = Server({"isWritablePrimary": False}, AutoReconnect("connection closed"), {"isWritablePrimary": True})
    await_primary(server)
    assert len(server.asked) == 3


def test_a_server_that_never_becomes_primary_is_named() -> None:
    with pytest.raises(ConfigurationError, match="did not become primary"):
        await_primary(Server({"isWritablePrimary": False}), seconds=0)  # type: ignore[arg-type]
