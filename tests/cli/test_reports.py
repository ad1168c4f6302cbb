"""The formats of `mak check`, as those who read them demand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mak.cli.introduced import CHOICE
from mak.cli.main import main
from mak.cli.reports import FORMATS
from mak.cli.reports.report import NOTHING, Report, page
from mak.model import Finding, NodeId, Place

DATA = Path(__file__).parents[1] / "data"
SARIF = json.loads((DATA / "sarif-2.1.0.json").read_text())
ID = CHOICE[0].id

FINDING = Finding(
    ID,
    NodeId("shop/my cart.py", "Cart.pay"),
    "total takes 2 arguments, see shop/prices.py:4, but gets 100% of 1; pass rate",
    12,
    column=9,
    related=(Place("shop/prices.py", 4, "total(items, rate)"),),
)
REPORT = Report((FINDING,), "HEAD (0123456789)", "what is staged", 3, 1, remarks=("look: here",))
EMPTY = replace(REPORT, findings=(), ignored=0, remarks=())


def written(form: str, report: Report = REPORT) -> str:
    return FORMATS[form](report)


# ------------------------------------------------------------------------------------------ text


def test_text_groups_by_file_and_sums_up() -> None:
    other = replace(FINDING, line=20, column=0, related=())
    report = replace(REPORT, findings=(FINDING, other))
    assert written("text", report).splitlines() == [
        "shop/my cart.py",
        f"  12:9    {ID}",
        f"          {FINDING.message}",
        "          -> shop/prices.py:4  total(items, rate)",
        f"  20      {ID}",
        f"          {FINDING.message}",
        "",
        "2 findings in 1 file; 1 ignored by comments "
        "(3 changed files, what is staged against HEAD (0123456789))",
        f"{ID}: {page(ID)}",
        "to leave out a file that is broken on purpose: --exclude PATH",
    ]
    calls = tuple(replace(each, check="call-signature") for each in REPORT.findings)
    *_, last = written("text", replace(REPORT, findings=calls)).splitlines()
    assert last == "to keep a line as it is, end it with: # mak: ignore[call-signature]"
    assert written("text", EMPTY) == (
        "No findings (3 changed files, what is staged against HEAD (0123456789))"
    )
    everything = replace(EMPTY, base=NOTHING, subject="the working tree")
    assert written("text", everything) == "No findings (all of the working tree, 3 files)"


def test_text_shows_what_could_rewrite_a_terminal_as_escapes() -> None:
    text = written("text", replace(REPORT, findings=(replace(FINDING, message="\x1b[2Jgone"),)))
    assert "\x1b" not in text and "\\x1b[2Jgone" in text


# ------------------------------------------------------------------------------------------ json


def test_json_is_what_its_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "findings"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    for report in (REPORT, EMPTY):
        jsonschema.validate(json.loads(written("json", report)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(written("json")), "more": 1}, schema)


# ----------------------------------------------------------------------------------------- sarif


def sarif(report: Report = REPORT) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(written("sarif", report))
    return log


@pytest.mark.parametrize("report", [REPORT, EMPTY])
def test_sarif_is_valid(report: Report) -> None:
    validator = jsonschema.Draft4Validator(SARIF, format_checker=jsonschema.FormatChecker())
    log = sarif(report)
    assert [error.message for error in validator.iter_errors(log)] == []
    broken = {**log, "runs": [{**log["runs"][0], "tool": {}}]}
    assert [*validator.iter_errors(broken)]


def test_sarif_names_rules_places_and_the_definition() -> None:
    (run,) = sarif()["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == ID
    assert rule["helpUri"].endswith(f"/docs/checks/{ID}.md")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "shop/my%20cart.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 12, "startColumn": 9}
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"] == {"startLine": 4}
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in notes] == ["look: here"]


def test_sarif_knows_a_finding_again_when_lines_move() -> None:
    def prints(*findings: Finding) -> list[str]:
        results = sarif(replace(REPORT, findings=findings))["runs"][0]["results"]
        return [next(iter(result["partialFingerprints"].values())) for result in results]

    moved = replace(FINDING, line=40, message=FINDING.message.replace(":4,", ":5,"))
    assert moved.message != FINDING.message
    assert prints(FINDING) == prints(moved)
    assert len({*prints(FINDING, moved, replace(FINDING, node=NodeId("a.py")))}) == 3


# ---------------------------------------------------------------------------------------- github


def parsed(line: str) -> tuple[dict[str, str], str]:
    """Read a workflow command as GitHub's runner does."""
    match = re.fullmatch(r"::error ([^:]*)::(.*)", line)
    assert match, line
    codes = {"%2C": ",", "%3A": ":", "%0A": "\n", "%0D": "\r", "%25": "%"}

    def decoded(text: str) -> str:
        return re.sub("%2C|%3A|%0A|%0D|%25", lambda m: codes[m[0]], text)

    pairs = (pair.split("=", 1) for pair in match[1].split(","))
    return {name: decoded(value) for name, value in pairs}, decoded(match[2])


def test_github_is_given_file_line_title_and_the_very_message() -> None:
    tricky = replace(
        FINDING, node=NodeId("a,b:c%25.py"), message="100%\nof: it, %0A", line=3, column=0
    )
    first, second, _ = written("github", replace(REPORT, findings=(FINDING, tricky))).splitlines()
    properties, message = parsed(first)
    assert message == FINDING.message
    assert (properties["file"], properties["line"], properties["col"]) == (
        "shop/my cart.py",
        "12",
        "9",
    )
    assert properties["title"] == f"{ID}: {CHOICE[0].title}"
    properties, message = parsed(second)
    assert (properties["file"], message) == ("a,b:c%25.py", "100%\nof: it, %0A")


def test_github_gets_as_many_annotations_as_it_shows_and_the_rest_as_lines() -> None:
    findings = tuple(replace(FINDING, line=n) for n in range(1, 14))
    lines = written("github", replace(REPORT, findings=findings)).splitlines()
    assert [line.startswith("::error ") for line in lines] == [True] * 10 + [False] * 6
    assert lines[11].startswith("shop/my cart.py:11: ")
    # What a path begins with is no command: they are off while the others are printed.
    off, on = lines[10].removeprefix("::stop-commands::"), lines[14]
    assert (len(off), on) == (32, f"::{off}::")
    assert lines[-1].startswith("13 findings in 1 file") and "10 are shown" in lines[-1]


def test_github_finds_a_repository_below_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    report = replace(REPORT, root=tmp_path / "repo")
    properties, _ = parsed(written("github", report).splitlines()[0])
    assert properties["file"] == "repo/shop/my cart.py"


def test_markdown_links_nothing_and_mentions_nobody() -> None:
    hostile = replace(FINDING, node=NodeId("``` @alice.py"), message="see #1\n```\n<img src=x>")
    text = written("markdown", replace(REPORT, findings=(FINDING, hostile)))
    fence = "````"
    head, block, tail = text.rpartition(f"{fence}text\n")[0], *text.split(fence)[-2:]
    assert "@alice" not in head + tail
    assert "@alice" in block
    assert r"see #1\n```\n<img" in block
    assert text.count(f"\n{fence}\n") == 1
    assert f"[{ID}](" in tail


def test_markdown_without_findings_is_a_sum() -> None:
    text = written("markdown", replace(REPORT, findings=()))
    assert text.startswith("### mak check\n")
    assert "What to do" not in text
