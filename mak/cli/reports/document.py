"""Findings as one JSON document, and its schema."""

from __future__ import annotations

import json
from typing import Any

from mak.cli.reports.report import Report, page


def write(report: Report) -> str:
    """Return the document, in ASCII: paths may hold anything."""
    return json.dumps(document(report), indent=2)


def document(report: Report) -> dict[str, Any]:
    """Return what `schema` describes."""
    return {
        "version": 1,
        "subject": report.subject,
        "base": report.base,
        "changed": report.changed,
        "ignored": report.ignored,
        "findings": [
            {
                "check": finding.check,
                "path": finding.node.path,
                "line": finding.line,
                "column": finding.column,
                "node": str(finding.node),
                "message": finding.message,
                "related": [
                    {"path": place.path, "line": place.line, "text": place.text}
                    for place in finding.related
                ],
                "page": page(finding.check),
            }
            for finding in report.findings
        ],
        "remarks": [*report.remarks],
    }


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    text = {"type": "string"}
    number = {"type": "integer", "minimum": 0}

    def thing(**properties: object) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": [*properties],
            "additionalProperties": False,
        }

    place = thing(path=text, line=number, text={**text, "description": "what stands there"})
    finding = thing(
        check={**text, "description": "id of the check"},
        path={**text, "description": "relative to the repository's top folder"},
        line={**number, "description": "1-based; 0: the file as a whole"},
        column={**number, "description": "1-based, in characters; 0: the line as a whole"},
        node={**text, "description": "id of the node that holds the place"},
        message={**text, "description": "one sentence: what is wrong, then what to do"},
        related={
            "type": "array",
            "items": place,
            "description": "the definitions that it disagrees with, most telling first",
        },
        page={**text, "format": "uri", "description": "where the check is explained"},
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Findings of mak check",
        **thing(
            version={"const": 1},
            subject={**text, "description": "what was checked"},
            base={**text, "description": "what it was compared with"},
            changed={**number, "description": "files that differ"},
            ignored={**number, "description": "findings that comments took away"},
            findings={"type": "array", "items": finding},
            remarks={"type": "array", "items": text},
        ),
    }
