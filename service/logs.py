"""How the process writes its log: one JSON object a line on stderr, or coloured text for a person."""

import logging
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog

Event = MutableMapping[str, Any]


def configure_logging(level: str, log_format: str) -> None:
    """Sets up structlog, and sends what libraries log by way of the standard library through the same renderer."""
    shared: list[Any] = [structlog.processors.format_exc_info, _stamped]
    console, as_json = log_format == "console", structlog.processors.JSONRenderer(_dumps)
    renderer = structlog.dev.ConsoleRenderer() if console else as_json
    structlog.configure(
        processors=[*shared, renderer] if console else [_json_line],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr)
        if console
        else structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _stamped(_logger: object, method: str, event: Event) -> Event:
    event["level"] = method
    event["timestamp"] = datetime.now(UTC).isoformat()
    return event


def _json_line(logger: object, method: str, event: Event) -> bytes:
    """The whole chain in one step, for one line is written for every request."""
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, method, event)
    return orjson.dumps(_stamped(logger, method, event), str)


def _dumps(value: Any, default: Any = None, **_: Any) -> str:
    return orjson.dumps(value, default).decode()
