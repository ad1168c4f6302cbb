"""Logs: one JSON object a line, without anything that is secret."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from mak.github.redaction import redact

#: What every record has; the rest was said with it.
_OWN = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName", "color_message"}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name, value in record.__dict__.items() if name not in _OWN}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        # By value in each text: a secret with a quote in it looks otherwise once it is JSON.
        clean = {
            name: redact(value) if isinstance(value, str) else value
            for name, value in entry.items()
        }
        return redact(json.dumps(clean, default=str, ensure_ascii=False))


def begin(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Send all logs, also those of libraries, to a stream: standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Json())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in ("httpx", "httpcore", "asyncio", "sqlalchemy.engine"):
        logging.getLogger(name).setLevel(logging.WARNING)
