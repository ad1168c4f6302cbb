"""The formats of ``mak check``: each turns a report into what goes to stdout."""

from __future__ import annotations

from collections.abc import Callable

from mak.cli.reports import document, github, markdown, sarif, text
from mak.cli.reports.report import Report

FORMATS: dict[str, Callable[[Report], str]] = {
    "text": text.write,
    "json": document.write,
    "sarif": sarif.write,
    "github": github.write,
    "markdown": markdown.write,
}
