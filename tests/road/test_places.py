"""Where a run may write, and in what kind of repository: it works or it is refused clearly."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mak.errors import MakError, PlanError, StoreError
from mak.events import Planned, TaskStarted
from mak.model import Outcome, RunState
from mak.store import Store
from tests.conftest import git, write
from tests.road.conftest import Road, edited, environment, reply, snapshot, task

A = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
TEN = "def one():\n    return 10\n"
AFTER = A.replace("return 1\n", "return 10\n")


def one_becomes_ten(road: Road, node: str = "a.py::one", **more) -> Outcome:
    return road.run([task("t", node)], {"t": [reply(edited("n1", TEN))] * 3}, **more)


def numstat(road: Road, path: str) -> list[str]:
    return git(road.root, "show", "--format=", "--numstat", "HEAD", "--", path).split()


# ------------------------------------------------------------------ bytes


# I6
@pytest.mark.parametrize(
    "text",
    [
        A.replace("\n", "\r\n"),
        A.replace("\n", "\r"),
        "\ufeff" + A,
        A.rstrip("\n"),
        "def one( ) :\n    return 1\n\ndef two( ):  # odd\n  x=[1,\n   2 ]\n  return   x;\n\n\n\n",
        "def one():\n\treturn 1\n\n\n\nclass  C :\n\t'doc'\n\tdef m ( self ):\treturn 1   \n",
        "\f\ndef one():\n    return 1\n\f\ndef two(): return 2 # \t \n",
        "import os;import sys\nif True:\n        x = 1\ndef one():\n    return 1\nx = 1 ; y = 2\n",
    ],
    ids=["crlf", "cr", "bom", "no newline", "odd", "tabs", "form feeds", "semicolons"],
)
def test_an_edit_of_one_line_is_a_diff_of_one_line(make_road, text):
    road = make_road({"a.py": text})
    before = (road.root / "a.py").read_bytes()
    source = text.partition("def one")[2]
    source = "def one" + source.replace("\r\n", "\n").replace("\r", "\n").partition("\n\n")[0]
    source = source.partition("\nx =")[0].partition("\n\f")[0]
    new = reply(edited("n1", source.replace("return 1", "return 10") + "\n"))
    assert road.run([task("t", "a.py::one")], {"t": [new]}).state is RunState.DONE
    assert (road.root / "a.py").read_bytes() == before.replace(b"return 1", b"return 10", 1)
    if "\n" in text:
        assert numstat(road, "a.py") == ["1", "1", "a.py"]


def test_an_edit_in_a_latin_1_file_keeps_its_coding(make_road):
    text = "# -*- coding: latin-1 -*-\nname = 'caf\xe9'\n\n\ndef one():\n    return 1  # \xfc\n"
    road = make_road({"a.py": text.encode("latin-1")})
    new = reply(edited("n1", "def one():\n    return 'na\xefve'  # \xfc\n"))
    assert road.run([task("t", "a.py::one")], {"t": [new]}).state is RunState.DONE
    changed = text.replace("return 1", "return 'na\xefve'").encode("latin-1")
    assert (road.root / "a.py").read_bytes() == changed
    assert git(road.root, "status", "--porcelain") == ""


def test_text_that_a_files_coding_lacks_is_refused(make_road):
    text = "# coding: latin-1\ndef one():\n    return '\xe9'\n".encode("latin-1")
    road = make_road({"a.py": text})
    new = reply(edited("n1", "def one():\n    return '\u20ac'\n"))
    outcome = road.run([task("t", "a.py::one")], {"t": [new] * 3})
    assert outcome.state is RunState.FAILED
    assert (
        "\u20ac" in outcome.tasks["t"].reason and "coding iso-8859-1" in outcome.tasks["t"].reason
    )
    assert (road.root / "a.py").read_bytes() == text


@pytest.mark.parametrize(
    "broken",
    [
        "def broken(:\n    pass\n",
        "caf\xe9 = 1\n".encode("latin-1"),
        b"\x00\xff\x00",
        "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
        "print 'two'\n",
    ],
    ids=["syntax error", "not utf-8", "binary", "markers", "python 2"],
)
def test_a_file_elsewhere_that_cannot_be_cut_is_in_nobodys_way(make_road, broken):
    road = make_road({"a.py": A, "b.py": broken})
    before = (road.root / "b.py").read_bytes()
    assert one_becomes_ten(road).state is RunState.DONE
    assert road.text("a.py") == AFTER
    assert (road.root / "b.py").read_bytes() == before


def test_a_file_that_does_not_parse_can_be_mended_as_a_whole_only(make_road):
    road = make_road({"a.py": "def one(:\n    return 1\n"})
    with pytest.raises(PlanError, match=r"a\.py"):
        one_becomes_ten(road)
    outcome = road.run([task("t", "a.py")], {"t": [reply(edited("n1", A))]})
    assert outcome.state is RunState.DONE
    assert road.text("a.py") == A


@pytest.mark.parametrize("path", ["a.py", "pkg/__init__.py"])
def test_an_empty_file_is_filled(make_road, path):
    road = make_road({path: ""})
    new = {"parent": "n1", "after": "", "kind": "function", "source": TEN}
    into = road.run([task("t", f"{path}::@header")], {"t": [reply(new_nodes=[new])]})
    assert into.state is RunState.DONE
    assert road.text(path) == TEN
    whole = road.run([task("u", path)], {"u": [reply(edited("n1", A))]})
    assert whole.state is RunState.DONE
    assert road.text(path) == A


def test_a_symbol_is_created_in_an_empty_file(make_road):
    road = make_road({"a.py": ""})
    outcome = road.run([task("t", creates=["a.py::one"])], {"t": [reply(edited("n1", TEN))]})
    assert outcome.state is RunState.DONE
    assert road.text("a.py") == TEN


def test_a_file_can_be_emptied_and_deleted_only_on_purpose(make_road):
    road = make_road({"a.py": A, "b.py": "x = 1\n"})
    outcome = road.run([task("t", "a.py")], {"t": [reply(edited("n1", ""))] * 3})
    assert outcome.state is RunState.FAILED
    assert road.text("a.py") == A
    gone = reply(deletes=[{"node": "n1", "reason": "it is not used"}])
    outcome = road.run([task("u", "b.py")], {"u": [gone]})
    assert outcome.state is RunState.DONE
    assert not (road.root / "b.py").exists()


def test_line_ends_that_git_converts_are_as_the_person_has_them(make_road):
    road = make_road({"a.py": A, "b.py": A})
    git(road.root, "config", "core.autocrlf", "true")
    for name in ("a.py", "b.py"):
        (road.root / name).unlink()
    git(road.root, "checkout", "-q", ".")
    assert b"\r\n" in (road.root / "a.py").read_bytes()
    assert one_becomes_ten(road).state is RunState.DONE
    assert road.text("a.py") == AFTER.replace("\n", "\r\n")
    assert git(road.root, "cat-file", "blob", "HEAD:a.py") == AFTER
    assert numstat(road, "a.py") == ["1", "1", "a.py"]
    assert git(road.root, "status", "--porcelain") == ""


def test_a_file_stays_executable(make_road):
    road = make_road({"a.py": f"#!/usr/bin/env python\n\n\n{A}"})
    (road.root / "a.py").chmod(0o755)
    git(road.root, "commit", "-qam", "executable")
    assert one_becomes_ten(road).state is RunState.DONE
    assert git(road.root, "ls-tree", "HEAD", "a.py").startswith("100755 ")
    assert (road.root / "a.py").stat().st_mode & 0o111 == 0o111


# ------------------------------------------------------------------ paths


@pytest.mark.parametrize(
    "path", ["a b/c d.py", "ä/日本.py", "-a.py", "a'b\".py", "$(x)/*.py", "a\\b.py", ":a.py"]
)
def test_a_path_is_nothing_but_a_path(make_road, path):
    road = make_road({path: A, "a.py": A, "b.py": A})
    assert one_becomes_ten(road, f"{path}::one").state is RunState.DONE
    assert road.text(path) == AFTER
    assert road.text("a.py") == road.text("b.py") == A
    assert git(road.root, "status", "--porcelain") == ""


@pytest.fixture
def monorepo(make_road) -> Road:
    names = ("a.py", "services/shop/a.py", "services/shop/cart/b.py", "services/other/a.py")
    road = make_road(dict.fromkeys(names, A))
    assert not (road.root / "services/shop/.git").exists()
    return road


def test_a_file_below_a_sub_folder_is_edited_in_the_repository_around_it(monorepo):
    folder = monorepo.root / "services/shop"
    write(monorepo.root, {"services/other/a.py": "x = 'mine'\n", "services/shop/new.txt": "mine\n"})
    before = snapshot(monorepo.root)
    outcome = one_becomes_ten(monorepo, "services/shop/a.py::one", work_dir=folder)
    assert outcome.state is RunState.DONE
    assert monorepo.text("services/shop/a.py") == AFTER
    assert monorepo.text("a.py") == A
    assert not (folder / ".git").exists()
    assert snapshot(monorepo.root) == before
    assert git(monorepo.root, "rev-parse", "HEAD").strip() == outcome.head


def test_a_path_as_seen_from_the_work_dir_is_taken_for_what_it_means(monorepo):
    """A person in a sub-folder writes the path as they see it, and is told how it was taken."""
    folder = monorepo.root / "services/shop"
    outcome = one_becomes_ten(monorepo, "cart/b.py::one", work_dir=folder)
    assert outcome.state is RunState.DONE
    assert monorepo.text("services/shop/cart/b.py") == AFTER
    taken = "t: writes cart/b.py::one, taken as services/shop/cart/b.py::one"
    assert [event.remarks for event in monorepo.of(Planned)] == [(taken,)]


def test_a_path_that_means_one_thing_from_the_root_and_one_from_the_work_dir_is_refused(monorepo):
    with pytest.raises(PlanError, match=r"a\.py: outside the work dir services/shop/"):
        one_becomes_ten(monorepo, "a.py::one", work_dir=monorepo.root / "services/shop")
    assert monorepo.text("services/shop/a.py") == monorepo.text("a.py") == A


def test_a_new_file_as_seen_from_the_work_dir_lands_below_it_or_is_refused(monorepo):
    folder = monorepo.root / "services/shop"
    script = {"t": [reply(edited("n1", TEN))]}
    with pytest.raises(PlanError, match="services/shop"):
        monorepo.run([task("t", creates=["new.py"])], script, work_dir=folder)
    path = "services/shop/new.py"
    assert monorepo.run([task("t", creates=[path])], script, work_dir=folder).state is RunState.DONE
    assert monorepo.text(path) == TEN
    assert not (monorepo.root / "new.py").exists()


@pytest.mark.parametrize("path", ["../x.py", "/tmp/x.py", "link/x.py", "link.py", ".git/x.py"])
@pytest.mark.parametrize("how", ["writes", "creates", "reads"])
def test_a_path_that_leaves_the_work_dir_is_refused(make_road, path, how, tmp_path):
    road = make_road({"a.py": A})
    write(tmp_path, {"x.py": A, "outside/x.py": A})
    (road.root / "link").symlink_to(tmp_path / "outside")
    (road.root / "link.py").symlink_to(tmp_path / "x.py")
    git(road.root, "add", "-A")
    git(road.root, "commit", "-qm", "links")
    parts = {"writes": ["a.py::one"], how: [path]}
    given = {"id": "t", "goal": "leave", **parts}
    with pytest.raises(PlanError) as refused:
        road.run([given], {"t": [reply(edited("n1", TEN))]})
    assert path in str(refused.value)
    assert road.of(TaskStarted) == []
    for outside in (tmp_path / "x.py", tmp_path / "outside/x.py"):
        assert outside.read_text() == A


def test_a_path_outside_of_the_work_dir_but_in_the_repository_is_refused(monorepo):
    folder = monorepo.root / "services/shop"
    for path in ("services/other/a.py::one", "../other/a.py::one", "services/shop/../other/a.py"):
        with pytest.raises(PlanError) as refused:
            one_becomes_ten(monorepo, path, work_dir=folder)
        assert path.partition("::")[0] in str(refused.value)
    assert monorepo.text("services/other/a.py") == A


def test_a_symbolic_link_that_appears_during_a_run_is_not_followed(make_road, tmp_path):
    road = make_road({"pkg/a.py": A})
    write(tmp_path, {"elsewhere/a.py": A})

    def act() -> None:
        (road.root / "pkg").rename(tmp_path / "pkg")
        (road.root / "pkg").symlink_to(tmp_path / "elsewhere")

    road.when(TaskStarted, act)
    outcome = one_becomes_ten(road, "pkg/a.py::one")
    assert outcome.state is RunState.HELD
    assert "pkg/a.py" in outcome.reason
    assert (tmp_path / "elsewhere/a.py").read_text() == A
    assert (tmp_path / "pkg/a.py").read_text() == A


def test_a_target_that_git_ignores_is_refused(make_road):
    road = make_road({".gitignore": "build/\n*.gen.py\n", "a.py": A})
    write(road.root, {"build/a.py": A, "a.gen.py": A})
    for path in ("build/new.py", "new.gen.py"):
        with pytest.raises(MakError, match="ignores") as refused:
            road.run([task("t", creates=[path])], {"t": [reply(edited("n1", TEN))]})
        assert path in str(refused.value)
    for path in ("build/a.py", "a.gen.py"):
        with pytest.raises(MakError) as refused:
            one_becomes_ten(road, f"{path}::one")
        assert path in str(refused.value)
        assert road.text(path) == A
    assert road.of(TaskStarted) == []


def test_a_new_file_that_git_ignores_is_not_lost_in_a_reply(make_road):
    """Its folder is ignored from within the run: the plan could not know."""
    road = make_road({".gitignore": "", "a.py": A})
    road.when(TaskStarted, lambda: write(road.root, {".git/info/exclude": "new.py\n"}))
    outcome = road.run([task("t", creates=["new.py"])], {"t": [reply(edited("n1", TEN))]})
    assert outcome.state is RunState.DONE
    assert git(road.root, "show", "HEAD:new.py") == TEN
    assert road.text("new.py") == TEN


# ------------------------------------------------------------------ hooks and signatures


def hook(road: Road, name: str, text: str) -> None:
    path = road.root / ".git/hooks" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_a_failing_hook_holds_the_wave_when_hooks_are_asked_for(make_road, name):
    road = make_road({"a.py": A})
    hook(road, name, "echo 'no commits on Fridays'; exit 1")
    before = snapshot(road.root)
    outcome = one_becomes_ten(road, hooks=True)
    assert outcome.state is RunState.HELD
    assert name in outcome.reason and "no commits on Fridays" in outcome.reason
    assert git(road.root, "log", "--format=%s").splitlines() == ["base"]
    assert snapshot(road.root) == before
    assert len(git(road.root, "worktree", "list").splitlines()) == 1
    (road.root / ".git/hooks" / name).unlink()
    assert road.recover().state is RunState.DONE
    assert road.text("a.py") == AFTER


def test_a_failing_hook_is_named_when_hooks_are_not_asked_for(make_road):
    road = make_road({"a.py": A})
    hook(road, "pre-commit", "exit 1")
    assert one_becomes_ten(road).state is RunState.DONE
    assert any("pre-commit hook was not run" in str(event) for event in road.events)


def test_a_hook_that_rewrites_the_message_does_not_hide_the_wave(make_road):
    road = make_road({"a.py": A})
    hook(road, "commit-msg", "echo 'JIRA-1 as ever' > \"$1\"")
    tasks = [task("t", "a.py::one"), task("u", "a.py::two", depends_on=["t"])]
    two = "def two():\n    return 20\n"
    script = {"t": [reply(edited("n1", TEN))], "u": [reply(edited("n1", two))]}
    assert road.run(tasks, script, hooks=True).state is RunState.DONE
    told = "--format=%s|%(trailers:key=MAK-Tasks,valueonly,separator=)"
    assert git(road.root, "log", "-2", told).splitlines() == [
        "JIRA-1 as ever|u",
        "JIRA-1 as ever|t",
    ]


def test_a_hook_that_rewrites_files_does_not_touch_the_persons(make_road):
    road = make_road({"a.py": A, "b.py": A})
    write(road.root, {"b.py": "x = 'mine'\n"})
    hook(road, "pre-commit", "echo '# formatted' >> a.py; rm b.py")
    outcome = one_becomes_ten(road, hooks=True)
    assert outcome.state is RunState.HELD
    assert "changes files" in outcome.reason
    assert road.text("a.py") == A and road.text("b.py") == "x = 'mine'\n"


def test_a_signature_that_cannot_be_made_commits_nothing(make_road):
    road = make_road({"a.py": A})
    git(road.root, "config", "commit.gpgsign", "true")
    git(road.root, "config", "gpg.program", "false")
    before = snapshot(road.root)
    with pytest.raises(StoreError, match="signing the commit") as refused:
        one_becomes_ten(road)
    assert "commit.gpgsign" in refused.value.hint
    assert git(road.root, "log", "--format=%s").splitlines() == ["base"]
    assert snapshot(road.root) == before
    git(road.root, "config", "commit.gpgsign", "false")
    assert road.recover().state is RunState.DONE
    assert road.text("a.py") == AFTER


# ------------------------------------------------------------------ kinds of repositories


def test_a_person_without_a_name_gets_commits_by_mak(make_road):
    road = make_road({"a.py": A})
    assert one_becomes_ten(road).state is RunState.DONE
    who = git(road.root, "log", "-1", "--format=%an <%ae> %cn <%ce>").strip()
    assert who == "MAK <mak@localhost> MAK <mak@localhost>"


def test_a_person_with_a_name_is_the_author(make_road):
    road = make_road({"a.py": A})
    git(road.root, "config", "user.name", "Eve")
    git(road.root, "config", "user.email", "eve@example.org")
    assert one_becomes_ten(road).state is RunState.DONE
    who = git(road.root, "log", "-1", "--format=%an <%ae> %cn <%ce>").strip()
    assert who == "Eve <eve@example.org> MAK <mak@localhost>"


@pytest.mark.parametrize(
    "home", ["", *(pytest.param(h, marks=pytest.mark.slow) for h in ("nowhere", "empty"))]
)
def test_a_home_that_is_not_there_is_not_needed(make_road, home, tmp_path):
    """Settled before libgit2 is loaded, so in a process of its own."""
    road = make_road({"a.py": A})
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mak"),
            *road.command([task("t", "a.py::one")], {"t": [reply(edited("n1", TEN))]}),
        ],
        cwd=road.root,
        env=environment(HOME=str(tmp_path / home) if home else ""),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert road.text("a.py") == AFTER
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_detached_head_moves_and_branches_stay(make_road):
    road = make_road({"a.py": A})
    git(road.root, "switch", "-q", "--detach")
    outcome = one_becomes_ten(road)
    assert outcome.state is RunState.DONE
    assert git(road.root, "rev-parse", "HEAD").strip() == outcome.head != outcome.base
    assert git(road.root, "rev-parse", "main").strip() == outcome.base
    assert git(road.root, "status", "--porcelain") == ""
    assert road.text("a.py") == AFTER


def test_an_unborn_branch_gets_its_first_commit(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    write(root, {"notes.txt": "mine\n"})
    road = Road(root)
    outcome = road.run([task("t", creates=["a.py"])], {"t": [reply(edited("n1", A))]})
    assert outcome.state is RunState.DONE
    assert (outcome.base, road.text("a.py")) == ("", A)
    assert git(root, "rev-list", "--count", "main").strip() == "1"
    assert git(root, "status", "--porcelain") == "?? notes.txt\n"


def test_a_file_that_was_never_committed_is_refused_with_what_to_do(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    write(root, {"a.py": A})
    with pytest.raises(MakError, match=r"a\.py: it is there but not committed"):
        one_becomes_ten(Road(root))
    assert (root / "a.py").read_text() == A


def test_a_shallow_clone_is_built_upon(make_road):
    origin = make_road({"a.py": A})
    for number in range(3):
        git(origin.root, "commit", "-q", "--allow-empty", "-m", f"more {number}")
    root = origin.root.parent / "clone"
    git(origin.root.parent, "clone", "-q", "--depth=1", f"file://{origin.root}", str(root))
    road = Road(root)
    assert one_becomes_ten(road).state is RunState.DONE
    assert road.text("a.py") == AFTER
    git(root, "push", "-q", "origin", "HEAD:refs/heads/topic")
    assert git(origin.root, "show", "topic:a.py") == AFTER


def test_a_linked_worktree_is_edited_and_the_main_one_left_alone(make_road):
    main = make_road({"a.py": A})
    write(main.root, {"a.py": "x = 'mine'\n"})
    linked = Road(main.root.parent / "linked")
    git(main.root, "worktree", "add", "-q", "-b", "topic", str(linked.root))
    assert one_becomes_ten(linked).state is RunState.DONE
    assert linked.text("a.py") == AFTER
    assert git(linked.root, "status", "--porcelain") == ""
    assert main.text("a.py") == "x = 'mine'\n"
    assert git(main.root, "status", "--porcelain") == " M a.py\n"
    with pytest.raises(MakError, match="checked out at"):
        one_becomes_ten(main, branch="topic")


def test_a_bare_repository_gets_commits_on_a_branch(make_road):
    origin = make_road({"a.py": A})
    root = origin.root.parent / "bare.git"
    git(origin.root.parent, "clone", "-q", "--bare", str(origin.root), str(root))
    outcome = one_becomes_ten(Road(root), branch="topic")
    assert outcome.state is RunState.DONE
    assert git(root, "show", "topic:a.py") == AFTER
    assert git(root, "show", "main:a.py") == A
    assert sorted(path.name for path in root.iterdir() if path.suffix == ".py") == []


def test_another_branch_gets_commits_and_the_files_stay(make_road):
    road = make_road({"a.py": A})
    write(road.root, {"a.py": "x = 'mine'\n"})
    before = snapshot(road.root)
    assert one_becomes_ten(road, branch="topic").state is RunState.DONE
    assert snapshot(road.root) == before
    assert git(road.root, "show", "topic:a.py") == AFTER
    assert git(road.root, "log", "--format=%s").splitlines() == ["base"]


def test_a_folder_that_is_no_repository_is_refused_and_none_is_made(tmp_path):
    with pytest.raises(MakError, match="not in a Git repository"):
        Store.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_submodule_is_not_written_through(make_road, tmp_path):
    inner = make_road({"a.py": A})
    root = tmp_path / "outer"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    git(root, "commit", "-qm", "base")
    with pytest.raises(PlanError, match=r"sub is a submodule"):
        one_becomes_ten(Road(root), "sub/a.py::one")
    assert one_becomes_ten(Road(root), "a.py::one", work_dir=root / "sub").state is RunState.DONE
    assert git(root, "status", "--porcelain") == " M sub\n"
