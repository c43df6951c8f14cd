"""Uvicorn's own parts that `protocol` and `workers` use, which any release may change: compared at import.

The version is bounded in pyproject.toml for the same reason.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.supervisors.multiprocess import Multiprocess, Process

CYCLE_PARAMETERS = (
    "self scope transport flow logger access_logger access_log default_headers message_event "
    "expect_100_continue keep_alive on_response"
)
# Each function that is overridden or called, and its parameters.
USED: Mapping[Callable[..., Any], str] = {
    HttpToolsProtocol.__init__: "self config server_state app_state _loop",
    HttpToolsProtocol._start_asgi_task: "self cycle app",  # noqa: SLF001
    HttpToolsProtocol.send_400_response: "self msg",
    HttpToolsProtocol.on_message_begin: "self",
    HttpToolsProtocol.on_url: "self url",
    HttpToolsProtocol.on_header: "self name value",
    HttpToolsProtocol.on_headers_complete: "self",
    HttpToolsProtocol.on_body: "self body",
    HttpToolsProtocol.on_message_complete: "self",
    HttpToolsProtocol.on_response_complete: "self",
    HttpToolsProtocol.shutdown: "self",
    RequestResponseCycle.__init__: CYCLE_PARAMETERS,
    RequestResponseCycle.run_asgi: "self app",
    HttpToolsProtocol._should_upgrade_to_ws: "self",  # noqa: SLF001
    HttpToolsProtocol.handle_websocket_upgrade: "self",
    WebSocketsSansIOProtocol.__init__: "self config server_state app_state _loop",
    WebSocketsSansIOProtocol.connection_made: "self transport",
    WebSocketsSansIOProtocol.connection_lost: "self exc",
    WebSocketsSansIOProtocol.handle_connect: "self event",
    WebSocketsSansIOProtocol.start_keepalive: "self",
    WebSocketsSansIOProtocol.shutdown: "self",
    uvicorn.Server.handle_exit: "self sig frame",
    uvicorn.Server.startup: "self sockets",
    uvicorn.Server.shutdown: "self sockets",
    Process.__init__: "self config sockets",
    Process.target: "self sockets",
    Process.pong: "self",
    Process.is_alive: "self timeout",
    Multiprocess.__init__: "self config sockets",
    Multiprocess.keep_subprocess_alive: "self",
    Multiprocess.terminate_all: "self",
}


def find_changes(used: Mapping[Callable[..., Any], str]) -> list[str]:
    """One sentence for each function that has other parameters than are written down for it."""
    found = ((function, " ".join(signature(function).parameters), expected) for function, expected in used.items())
    return [
        f"{function.__qualname__} has the parameters ({is_now}), not ({expected})"
        for function, is_now, expected in found
        if is_now != expected
    ]


if changes := find_changes(USED):
    raise ImportError(f"uvicorn {uvicorn.__version__} is not the one that service/server fits: {'; '.join(changes)}")
