"""Findings in SARIF 2.1.0, for code scanning.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mak import REPOSITORY, __version__
from mak.cli.reports.report import Report, page
from mak.model import Place

if TYPE_CHECKING:
    from mak.checks import Check
    from mak.model import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Stands for the top folder of the repository.
_ROOT = "%SRCROOT%"
#: Names how a fingerprint is made; another number when that changes.
_FINGERPRINT = "makFinding/v1"
_LINE = re.compile(r":\d+\b")


def write(report: Report) -> str:
    """Return the log: one run, with a rule for each check."""
    return json.dumps(log(report), indent=2)


def log(report: Report) -> dict[str, Any]:
    """Return the log as an object."""
    from mak.cli.introduced import CHOICE

    rules = {check.id: index for index, check in enumerate(CHOICE)}
    alike: Counter[str] = Counter()
    results = []
    for finding in report.findings:
        fingerprint = _fingerprint(finding)
        alike[fingerprint] += 1
        results.append(
            _result(finding, rules[finding.check], f"{fingerprint}:{alike[fingerprint]}")
        )
    driver = {
        "name": "mak check",
        "semanticVersion": __version__,
        "informationUri": REPOSITORY,
        "rules": [_rule(check) for check in CHOICE],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": remark}} for remark in report.remarks
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "shortDescription": {"text": f"{check.title[:1].upper()}{check.title[1:]}."},
        "helpUri": page(check.id),
        "help": {
            "text": f"{check.title}: see {page(check.id)}",
            "markdown": f"{check.title}: see [{check.id}]({page(check.id)}).",
        },
        "defaultConfiguration": {"level": "error"},
    }


def _result(finding: Finding, rule: int, fingerprint: str) -> dict[str, Any]:
    place = Place(finding.node.path, finding.line)
    location = {
        **_location(place, finding.column),
        "logicalLocations": [{"fullyQualifiedName": str(finding.node)}],
    }
    related = [
        {"id": number, **_location(other), "message": {"text": other.text or "defined here"}}
        for number, other in enumerate(finding.related, 1)
    ]
    return {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": finding.message},
        "locations": [location],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }


def _location(place: Place, column: int = 0) -> dict[str, Any]:
    region = {"startLine": max(place.line, 1), **({"startColumn": column} if column else {})}
    artifact = {"uri": quote(place.path), "uriBaseId": _ROOT}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _fingerprint(finding: Finding) -> str:
    """Return what stays when code above the finding comes and goes."""
    words = (finding.check, str(finding.node), _LINE.sub("", finding.message))
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
