"""How the process writes its log: one JSON object a line on stderr, or coloured text for a person."""

import logging
import sys
from typing import Any

import orjson
import structlog


def configure_logging(level: str, log_format: str) -> None:
    """Sets up structlog, and sends what libraries log by way of the standard library through the same renderer."""
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer = structlog.dev.ConsoleRenderer() if log_format == "console" else structlog.processors.JSONRenderer(_dumps)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _dumps(value: Any, default: Any = None, **_: Any) -> str:
    return orjson.dumps(value, default).decode()
