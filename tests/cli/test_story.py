"""The record of a run, told in lines."""

from __future__ import annotations

from mak.checks import CHECKS
from mak.cli import story
from mak.cli.reports.report import page
from mak.model import Finding, NodeId


def test_findings_are_told_by_check_with_the_page_of_each() -> None:
    first, second = CHECKS[0].id, CHECKS[1].id
    found = (
        Finding(first, NodeId("a.py", "f"), "f is gone; keep it", 3),
        Finding(second, NodeId("b.py", "g"), "g is there twice; rename it"),
        Finding(first, NodeId("c.py"), "c is gone; keep it"),
        Finding("somebody-elses", NodeId("c.py"), "no"),
    )
    assert [*story.findings(found)] == [
        "findings",
        f"  {first}  {page(first)}",
        "    a.py::f:3  f is gone; keep it",
        "    c.py  c is gone; keep it",
        f"  {second}  {page(second)}",
        "    b.py::g  g is there twice; rename it",
        "  somebody-elses",
        "    c.py  no",
    ]
