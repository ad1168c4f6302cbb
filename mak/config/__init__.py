"""Configuration and document files: one model, one loader, one precedence rule.

A value comes from the command line, else from the file given with ``--config``, else from
``.mak/config.yaml`` in the work directory, else from the person's own ``config.yaml``, else from
the defaults here. Every limit of MAK has its home in `Config`.
"""

from mak.config.discovery import CONFIG_FILE, Found, discover, load, places
from mak.config.documents import dump_yaml, parse_document, read_document
from mak.config.endpoints import (
    ENDPOINTS_FILE,
    Endpoints,
    EndpointSettings,
    read_endpoints,
    sparse,
    write_endpoints,
)
from mak.config.keylike import looks_like_key
from mak.config.policy import POLICY_FILE, Approver, OnOverlap, Policy, policy_schema
from mak.config.private import changing
from mak.config.sections import Section
from mak.config.settings import (
    Checks,
    Config,
    Files,
    Gate,
    Generated,
    Mode,
    Models,
    Repair,
    Timeouts,
    When,
    config_schema,
)
from mak.config.template import template
from mak.config.validation import validate
from mak.config.variables import NAME as VARIABLE
from mak.config.variables import (
    VARIABLES_FILE,
    merged,
    read_variables,
    remove_variable,
    set_variable,
)

__all__ = [
    "CONFIG_FILE",
    "ENDPOINTS_FILE",
    "POLICY_FILE",
    "VARIABLE",
    "VARIABLES_FILE",
    "Approver",
    "Checks",
    "Config",
    "EndpointSettings",
    "Endpoints",
    "Files",
    "Found",
    "Gate",
    "Generated",
    "Mode",
    "Models",
    "OnOverlap",
    "Policy",
    "Repair",
    "Section",
    "Timeouts",
    "When",
    "changing",
    "config_schema",
    "discover",
    "dump_yaml",
    "load",
    "looks_like_key",
    "merged",
    "parse_document",
    "places",
    "policy_schema",
    "read_document",
    "read_endpoints",
    "read_variables",
    "remove_variable",
    "set_variable",
    "sparse",
    "template",
    "validate",
    "write_endpoints",
]
