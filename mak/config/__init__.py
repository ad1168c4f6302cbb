"""Configuration and document files: one model, one loader, one precedence rule.

A value comes from the command line, else from the file given with ``--config``, else from
``.mak/config.yaml`` in the work directory, else from the person's own ``config.yaml``, else from
the defaults here. Every limit of MAK has its home in `Config`.
"""

from mak.config.discovery import CONFIG_FILE, Found, discover, load, places
from mak.config.documents import dump_yaml, parse_document, read_document
from mak.config.sections import Section
from mak.config.settings import (
    Checks,
    Config,
    Files,
    Gate,
    Mode,
    Models,
    Repair,
    Timeouts,
    When,
    config_schema,
)
from mak.config.validation import validate

__all__ = [
    "CONFIG_FILE",
    "Checks",
    "Config",
    "Files",
    "Found",
    "Gate",
    "Mode",
    "Models",
    "Repair",
    "Section",
    "Timeouts",
    "When",
    "config_schema",
    "discover",
    "dump_yaml",
    "load",
    "parse_document",
    "places",
    "read_document",
    "validate",
]
