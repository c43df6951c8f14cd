"""Uvicorn's own parts that `protocol` and `workers` use, which any release may change: compared at import.

The version is bounded in pyproject.toml for the same reason.
"""

from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from service.fast.guard import Attributes, find_changes

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


# The attributes that are read or set, of each class.
ATTRIBUTES: Attributes = {
    HttpToolsProtocol: (
        "app app_state client config connections cycle flow headers loop parser pipeline scope server_state tasks transport url"
    ),
    RequestResponseCycle: "disconnected keep_alive response_complete scope",
    WebSocketsSansIOProtocol: (
        "close_sent close_timer conn disconnected handshake_complete keepalive_timeout loop ping_timeout pong_timer queue "
        "read_paused response scope stop_keepalive transport writable"
    ),
    uvicorn.Server: "config force_exit lifespan server_state started",
    Process: "child_conn config parent_conn process server",
    Multiprocess: "config processes should_exit signal_queue sockets",
}

if changes := find_changes(USED, ATTRIBUTES):
    raise ImportError(f"uvicorn {uvicorn.__version__} is not the one that service/server fits: {'; '.join(changes)}")
