"""`mak check`: what a person's own change breaks, on whichever two trees it is asked about."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mak.cli.main import main
from mak.store.git import Git
from tests.conftest import git, write

Make = Callable[..., Path]

PRICES = "def total(items):\n    return sum(items)\n"
BROKEN = PRICES.replace("total", "price")
CART = "from shop.prices import total\n\n\ndef pay(items):\n    return total(items)\n"
SHOP = {"shop/__init__.py": "", "shop/prices.py": PRICES, "shop/cart.py": CART}
MENDED = CART.replace("total", "price")


@pytest.fixture
def shop(make_repo: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repo(SHOP)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return a function that runs the command and returns its document, with the exit code."""

    def run(*args: str) -> dict[str, Any]:
        code = main(["check", "--format", "json", *args])
        out, err = capsys.readouterr()
        return {**json.loads(out), "code": code, "err": err}

    return run


def places(document: dict[str, Any]) -> list[str]:
    assert document["code"] == bool(document["findings"]), document
    return [f"{finding['path']}:{finding['line']}" for finding in document["findings"]]


def one(document: dict[str, Any]) -> dict[str, Any]:
    assert document["code"] == 1, document
    (finding,) = document["findings"]
    found: dict[str, Any] = finding
    return found


def commit(root: Path, message: str = "more") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


# ------------------------------------------------------------------------------ what is compared


def test_import_left_behind_is_found_with_the_definition_and_what_to_do(shop, check):
    write(shop, {"shop/prices.py": BROKEN})
    finding = one(check())
    assert (finding["path"], finding["line"], finding["column"]) == ("shop/cart.py", 1, 25)
    assert [(p["path"], p["line"]) for p in finding["related"]] == [("shop/prices.py", 1)]
    assert "total" in finding["message"] and "; " in finding["message"]
    assert finding["page"].endswith(f"/docs/checks/{finding['check']}.md")
    write(shop, {"shop/cart.py": MENDED})
    assert places(check()) == []


def test_call_left_behind_is_found_with_the_definition_and_what_to_do(shop, check):
    write(shop, {"shop/prices.py": PRICES.replace("items):", "items, rate):")})
    finding = one(check())
    assert (finding["path"], finding["line"], finding["column"]) == ("shop/cart.py", 5, 12)
    (place,) = finding["related"]
    assert (place["path"], place["line"]) == ("shop/prices.py", 1)
    assert "total(items, rate)" in place["text"] and "rate" in finding["message"]
    write(shop, {"shop/cart.py": CART.replace("total(items)", "total(items, 2)")})
    assert places(check()) == []


def test_nothing_that_was_there_before_is_found(shop, check):
    write(shop, {"shop/prices.py": BROKEN})
    commit(shop)
    write(shop, {"shop/prices.py": f"{BROKEN}\n\nMORE = 1\n", "shop/other.py": "x = 1\n"})
    assert places(check()) == []
    assert places(check("--all")) == ["shop/cart.py:1"]


def test_clean_tree_says_that_there_is_nothing_to_check(shop, capsys):
    assert main(["check"]) == 0
    out, err = capsys.readouterr()
    head = git(shop, "rev-parse", "HEAD")[:10]
    assert out == f"Nothing to check: the working tree is as HEAD ({head})\n"
    assert "mak check --base REV" in err
    assert main(["check", "--staged"]) == 0
    assert capsys.readouterr().err == ""


def test_staged_is_what_is_staged_whatever_the_files_say(shop, check):
    write(shop, {"shop/prices.py": BROKEN})
    git(shop, "add", "-A")
    write(shop, {"shop/cart.py": MENDED})
    assert places(check()) == []
    assert places(check("--staged")) == ["shop/cart.py:1"]
    git(shop, "add", "-A")
    write(shop, SHOP)
    assert places(check("--staged")) == []


def test_new_file_counts_before_git_knows_it(shop, check):
    write(shop, {"shop/new.py": "from shop.prices import totals\n"})
    assert places(check()) == ["shop/new.py:1"]
    assert places(check("--staged")) == []
    write(shop, {"shop/prices.py": f"{PRICES}\n\ndef totals():\n    return 0\n"})
    assert places(check()) == []


def test_base_is_where_the_branches_parted(shop, check):
    git(shop, "switch", "-q", "-c", "topic")
    write(shop, {"shop/new.py": "x = 1\n"})
    commit(shop)
    git(shop, "switch", "-q", "main")
    write(shop, {"shop/prices.py": BROKEN})
    commit(shop)
    git(shop, "switch", "-q", "topic")
    document = check("--base", "main")
    assert places(document) == [] and document["changed"] == 1
    # As git diff: the ends, or from where they parted.
    assert places(check("--base", "topic..main")) == ["shop/cart.py:1"]
    assert places(check("--base", "topic...main")) == ["shop/cart.py:1"]
    assert places(check("--base", "main..topic")) == []


def test_base_looks_at_commits_and_says_what_it_left_out(shop, check):
    write(shop, {"shop/new.py": "x = 1\n"})
    commit(shop)
    write(shop, {"shop/prices.py": BROKEN})
    document = check("--base", "HEAD~")
    assert places(document) == []
    assert document["remarks"] == [
        "changes that are not committed were not looked at; mak check does that"
    ]


def test_merge_is_blamed_for_what_neither_side_has(shop, check):
    write(shop, {"shop/old.py": "from shop.prices import nothing\n"})
    commit(shop, "broken on both sides")
    git(shop, "switch", "-q", "-c", "topic")
    write(shop, {"shop/theirs.py": "from shop.prices import nothing\n"})
    git(shop, "rm", "-q", "shop/cart.py")
    commit(shop, "their own fault")
    write(shop, {"shop/prices.py": BROKEN})
    commit(shop, "another name")
    git(shop, "switch", "-q", "main")
    write(shop, {"shop/new.py": "from shop.prices import total\n"})
    commit(shop, "another user")
    git(shop, "merge", "-q", "--no-commit", "topic")
    assert places(check("--staged")) == ["shop/new.py:1"]


def test_first_commit_asks_git_once_about_all_its_files(tmp_path, monkeypatch, check):
    """Each new file used to cost a process, which made a first commit of Django take minutes."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {f"m{n}.py": f"x = {n}\n" for n in range(40)})
    write(tmp_path, {".gitattributes": "m1.py filter=secret\n", "m1.py": "def broken(:\n"})
    monkeypatch.chdir(tmp_path)
    asked = []
    attempt = Git.attempt
    monkeypatch.setattr(Git, "attempt", lambda *a, **k: asked.append(a[1]) or attempt(*a, **k))
    assert places(check()) == []
    assert len(asked) <= 8 and asked.count("check-attr") == 1


def test_first_commit_is_compared_with_nothing(tmp_path, monkeypatch, check):
    git(tmp_path, "init", "-q")
    write(tmp_path, {**SHOP, "shop/prices.py": BROKEN})
    monkeypatch.chdir(tmp_path)
    document = check()
    assert places(document) == ["shop/cart.py:1"]
    assert document["base"] == "an empty branch"
    assert places(check("--staged")) == []
    git(tmp_path, "add", "-A")
    assert places(check("--staged")) == ["shop/cart.py:1"]


def test_whole_repository_is_checked_from_a_folder_of_it(make_repo, monkeypatch, check):
    root = make_repo({f"services/api/{path}": text for path, text in SHOP.items()})
    write(root, {"services/api/shop/prices.py": BROKEN, "services/web/__init__.py": "x = 1\n"})
    monkeypatch.chdir(root / "services/web")
    assert places(check()) == ["services/api/shop/cart.py:1"]
    assert places(check("--work-dir", "../api")) == ["services/api/shop/cart.py:1"]
    assert places(check(".")) == []
    assert places(check("../api")) == ["services/api/shop/cart.py:1"]


def test_paths_narrow_down_to_what_is_there_or_what_it_is_about(shop, check):
    write(shop, {"shop/prices.py": BROKEN, "other/new.py": "from shop.prices import nothing\n"})
    assert places(check()) == ["other/new.py:1", "shop/cart.py:1"]
    assert places(check("shop")) == ["other/new.py:1", "shop/cart.py:1"]
    assert places(check("other")) == ["other/new.py:1"]
    assert places(check("shop/cart.py")) == ["shop/cart.py:1"]
    assert places(check("shop/__init__.py")) == []
    assert places(check(str(shop))) == ["other/new.py:1", "shop/cart.py:1"]


def test_bare_repository_can_be_asked_about_its_commits(shop, tmp_path, monkeypatch, check):
    write(shop, {"shop/prices.py": BROKEN})
    commit(shop)
    git(tmp_path, "clone", "-q", "--bare", str(shop), "bare")
    monkeypatch.chdir(tmp_path / "bare")
    assert places(check("--base", "HEAD~")) == ["shop/cart.py:1"]
    assert places(check("--all")) == ["shop/cart.py:1"]


# -------------------------------------------------------------------------- what cannot be checked


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--base", ""], "argument --base: no revision"),
        (["--base", "nowhere"], "there is no commit 'nowhere' here"),
        (["--select", "everything"], "check: there is no check 'everything'"),
        (["nowhere.py"], "check: nowhere.py: no such file or folder"),
        (["/"], "outside of the repository"),
        (["--staged", "--base", "HEAD"], "not allowed with argument"),
        (["--format", "xml"], "invalid choice"),
        (["--pre-commit"], "--pre-commit is for hooks that pre-commit runs"),
    ],
)
def test_what_cannot_be_checked_is_no_finding(shop, capsys, args, text):
    assert main(["check", *args]) == 2
    out, err = capsys.readouterr()
    assert (out, text in err) == ("", True), err


def test_outside_of_a_repository(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert main(["check"]) == 2
    assert "not in a Git repository" in capsys.readouterr().err


def test_error_is_a_document_where_one_was_asked_for(shop, capsys):
    for args in (["--json"], ["--format", "json"], ["--format=json"]):
        assert main(["check", "--base", "nowhere", *args]) == 2
        assert set(json.loads(capsys.readouterr().out)) == {"error", "hint"}


def test_unresolved_conflict_in_the_index(shop, capsys, check):
    git(shop, "switch", "-q", "-c", "topic")
    write(shop, {"shop/prices.py": PRICES.replace("sum(items)", "max(items)")})
    commit(shop)
    git(shop, "switch", "-q", "main")
    write(shop, {"shop/prices.py": PRICES.replace("sum(items)", "min(items)")})
    commit(shop)
    with pytest.raises(AssertionError):
        git(shop, "merge", "-q", "topic")
    assert main(["check", "--staged"]) == 2
    assert "unresolved conflicts: shop/prices.py" in capsys.readouterr().err
    assert places(check()) == ["shop/prices.py:2"]


# ------------------------------------------------------------------------------------ which checks


def test_checks_are_selected_and_ignored_by_id(shop, check):
    write(shop, {"shop/prices.py": BROKEN})
    found = one(check())["check"]
    assert places(check("--ignore", found)) == []
    assert places(check("--select", f"syntax,{found}")) == ["shop/cart.py:1"]
    assert places(check("--select", "syntax")) == []
    assert places(check("--select", "syntax", "--select", found)) == ["shop/cart.py:1"]


def test_comment_ignores_the_check_that_it_names(shop, check):
    write(shop, {"shop/prices.py": BROKEN})
    found = one(check())["check"]
    line = CART.splitlines()[0]
    for mark in (f"# mak: ignore[{found}]", f"# why # mak:ignore[a,{found}]"):
        write(shop, {"shop/cart.py": CART.replace(line, f"{line}  {mark}")})
        document = check()
        assert places(document) == [] and document["ignored"] == 1
    assert document["remarks"] == ["shop/cart.py:1: mak: ignore[a]: there is no check 'a'"]
    write(shop, {"shop/cart.py": CART.replace(line, f"{line}  # mak: ignore[syntax]")})
    assert places(check()) == ["shop/cart.py:1"]


def test_excluded_files_have_no_findings(shop, check):
    write(
        shop, {"shop/prices.py": BROKEN, "tests/data/bad.py": "from shop.prices import nothing\n"}
    )
    assert places(check()) == ["shop/cart.py:1", "tests/data/bad.py:1"]
    assert places(check("--exclude", "tests/data")) == ["shop/cart.py:1"]
    assert places(check("--exclude", "tests", "--exclude", "shop/cart.py")) == []


def test_checks_are_listed_with_their_pages(capsys):
    assert main(["check", "--list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert main(["check", "--list", "--json"]) == 0
    ids = [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert [row[0] for row in rows] == ids and "syntax" in ids
    assert all(row[-1].startswith("https://") for row in rows)


# ------------------------------------------------------------------------------------------- hooks


def test_hook_of_pre_commit_looks_at_what_is_staged_or_pushed(shop, check, monkeypatch):
    write(shop, {"shop/prices.py": BROKEN})
    git(shop, "add", "-A")
    write(shop, SHOP)
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert places(check("--pre-commit")) == ["shop/cart.py:1"]
    git(shop, "commit", "-qm", "broken")
    git(shop, "add", "-A")
    assert places(check("--pre-commit")) == []
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", git(shop, "rev-parse", "HEAD~").strip())
    monkeypatch.setenv("PRE_COMMIT_TO_REF", git(shop, "rev-parse", "HEAD").strip())
    assert places(check("--pre-commit")) == ["shop/cart.py:1"]


def test_first_push_of_a_history_is_compared_with_nothing(shop, check, monkeypatch):
    write(shop, {"shop/prices.py": BROKEN})
    commit(shop)
    monkeypatch.setenv("PRE_COMMIT", "1")
    monkeypatch.setenv("PRE_COMMIT_LOCAL_BRANCH", "refs/heads/main")
    assert places(check("--pre-commit")) == ["shop/cart.py:1"]


# -------------------------------------------------------------------------------- what it leaves


def test_only_the_cache_is_written_and_no_lock_is_taken(shop, check):
    write(shop, {"shop/prices.py": BROKEN})

    def traces() -> dict[str, int]:
        files = (path for path in shop.rglob("*") if path.is_file())
        return {str(p.relative_to(shop)): p.stat().st_mtime_ns for p in files}

    before = traces()
    check()
    check("--staged")
    check("--base", "HEAD")
    left = {path for path, when in traces().items() if before.get(path) != when}
    assert {path.removesuffix("-wal").removesuffix("-shm") for path in left} == {
        ".git/mak/cache.sqlite"
    }


def test_repository_that_cannot_be_written_is_checked_all_the_same(shop, check):
    write(shop, {"shop/prices.py": BROKEN})
    (shop / ".git/mak").write_text("in the way of the cache")
    assert places(check()) == ["shop/cart.py:1"]


def test_a_worker_that_was_needed_leaves_nothing_to_complain_about(shop):
    write(shop, {"shop/prices.py": "def price(:\n", "shop/new.py": "def price(:\n"})
    code = "import sys; sys.argv = ['mak', 'check']; from mak.cli.main import script; script()"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shop, capture_output=True, text=True, env=env
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "shop/prices.py does not compile any more: " in done.stdout
    assert "shop/new.py does not compile: " in done.stdout


NEWER = "type Price[T] = list[T]\n"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows the syntax")
def test_syntax_newer_than_the_running_python_is_none_of_our_business(shop, check):
    """A new file with it was let pass, and a file that came to use it was called broken."""
    write(shop, {"shop/new.py": NEWER, "shop/prices.py": f"{PRICES}\n\n{NEWER}"})
    assert places(check()) == []
    assert places(check("--all")) == []
    write(shop, {"shop/new.py": f"{NEWER}def total(:\n"})
    assert places(check()) == ["shop/new.py:1"]


def test_a_file_that_does_not_compile_is_not_told_to_carry_a_comment(shop, capsys):
    write(shop, {"shop/new.py": "def price(:\n"})
    assert main(["check"]) == 1
    out = capsys.readouterr().out
    assert "does not compile: invalid syntax, line 1; correct it\n" in out
    assert "mak: ignore" not in out and "--exclude PATH" in out
    write(shop, {"shop/prices.py": BROKEN})
    assert main(["check"]) == 1
    assert "# mak: ignore[unknown-import]" in capsys.readouterr().out


def test_empty_repository_has_nothing_to_check(make_repo, monkeypatch, capsys):
    monkeypatch.chdir(make_repo({}))
    assert main(["check", "--all"]) == 0
    assert capsys.readouterr().out == "Nothing to check: the working tree has no files\n"


def test_name_of_a_file_that_breaks_lines_is_shown_in_one(shop, capsys):
    name = "shop/a\n::error::b.py"
    write(shop, {name: "from shop.prices import nothing  # mak: ignore[nonsense]\n"})
    shown = r"shop/a\n::error::b.py"
    for form in ("text", "markdown"):
        assert main(["check", "--format", form]) == 1
        out, err = capsys.readouterr()
        assert shown in out and "\n::error::" not in out + err
    assert main(["check", "--format", "github"]) == 1
    out, err = capsys.readouterr()
    assert "::error file=shop/a%0A%3A%3Aerror%3A%3Ab.py,line=1," in out
    assert "\n::error::b" not in out + err
    assert main(["check", "--format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["path"] == name


def test_nothing_is_loaded_that_speaks_to_a_model_or_the_network(shop):
    write(shop, {"shop/prices.py": BROKEN})
    heavy = ["anthropic", "openai", "httpx2", "pydantic", "libcst", "yaml", "rich"]
    code = (
        "import sys, mak.cli.main; mak.cli.main.main(['check']); "
        f"print(*[m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shop, capture_output=True, text=True, env=env
    )
    assert "shop/cart.py" in done.stdout, done.stderr
    assert done.stderr.splitlines()[-1] == ""


# ----------------------------------------------------------------------------------- documentation

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "docs/guides/check.md",
    ".pre-commit-hooks.yaml",
    ".github/workflows/ci.yml",
)


def commands() -> list[str]:
    """Return the `mak check` commands that documents and configuration tell people to run."""
    code = "\n".join((ROOT / name).read_text() for name in DOCUMENTS)
    return sorted(set(re.findall(r"mak check(?: (?:--?)?[\w./{}$\"^ -]+)?(?=[`\n|>#]| {2})", code)))


@pytest.mark.parametrize("command", commands())
def test_commands_in_the_documents_can_be_typed(command, capsys):
    args = shlex.split(command.split(" > ")[0])[1:]
    assert main([*args, "--list"]) == 0


def test_documents_show_commands() -> None:
    assert len(commands()) >= 8


def test_table_of_comparisons_is_complete(capsys) -> None:
    main(["check", "--help"])
    options = re.findall(r"--(worktree|staged|base|all)\b", capsys.readouterr().out)
    table = (ROOT / "docs/guides/check.md").read_text().split("## What is compared")[1]
    assert all(f"--{option}" in table for option in {*options} - {"worktree"})


def test_guide_shows_what_is_told(shop, capsys) -> None:
    write(shop, {"shop/prices.py": BROKEN})
    guide = (ROOT / "docs/guides/check.md").read_text()
    main(["check"])
    head = git(shop, "rev-parse", "HEAD")[:10]
    told = capsys.readouterr().out.replace(head, "ad8cab40b8")
    assert f"$ mak check\n{told}```" in guide
    main(["check", "--json"])
    told = json.loads(capsys.readouterr().out.replace(head, "ad8cab40b8"))
    assert told == json.loads(guide.split("```json\n")[1].split("```")[0])
