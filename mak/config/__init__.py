"""Configuration and document files: one model, one loader, one precedence rule.

A value comes from the command line, else from the file given with ``--config``, else from
``.mak/config.yaml`` in the work directory, else from the person's own ``config.yaml``, else from
the defaults here. Every limit of MAK has its home in `Config`.
"""

from mak.config.discovery import CONFIG_FILE, Found, discover, load, places
from mak.config.documents import dump_yaml, parse_document, read_document
from mak.config.settings import Config, Files, Mode, Models, Section, Timeouts, config_schema
from mak.config.validation import validate

__all__ = [
    "CONFIG_FILE",
    "Config",
    "Files",
    "Found",
    "Mode",
    "Models",
    "Section",
    "Timeouts",
    "config_schema",
    "discover",
    "dump_yaml",
    "load",
    "parse_document",
    "places",
    "read_document",
    "validate",
]
