"""What a wave does to a working tree in which a person is at work: keep, merge or hold."""

from __future__ import annotations

import itertools
import os
import random
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.store import Committed, Store, WaveHeld, place
from mak.store.wave import commit_wave
from mak.store.worktree import Kind, Worktree
from tests.conftest import git, write
from tests.store.killing import ended, forked
from tests.store.waving import is_sound, left_over, status, wave

MakeRepo = Callable[..., Path]

A, OTHER = "a.py", "other.py"
TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
NEW = TEXT.replace("one", "ONE")
EDITED = TEXT.replace("seven", "SEVEN")
BOTH = NEW.replace("seven", "SEVEN")
CLASH = TEXT.replace("one", "1")


def land(root: Path, files: dict[str, str | None]) -> Committed | WaveHeld:
    with Store.open(root) as store:
        before = store.tip()
        result = commit_wave(store, wave(store, files))
        is_sound(store)
        assert isinstance(result, Committed | WaveHeld)
        assert (store.tip() == before) == isinstance(result, WaveHeld)
    return result


# --------------------------------------------------------------- elsewhere: kept as it is


def test_what_is_staged_edited_and_new_elsewhere_stays_so(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, "staged.py": "s\n", "edited.py": "e\n", "both.py": "b\n"})
    write(root, {"staged.py": "s2\n", "both.py": "b2\n", "added.py": "n\n", "intent.py": "i\n"})
    git(root, "add", "staged.py", "both.py", "added.py")
    git(root, "add", "-N", "intent.py")
    write(root, {"edited.py": "e2\n", "both.py": "b3\n", "untracked.py": "u\n"})
    git(root, "rm", "-q", "--cached", "edited.py")
    before = status(root)
    assert len(before) == 7
    assert isinstance(land(root, {A: NEW, "new.py": "n\n"}), Committed)
    assert status(root) == before
    assert (root / "both.py").read_text() == "b3\n"
    assert git(root, "show", ":both.py") == "b2\n"


def test_sparse_checkout_stays_sparse(make_repo: MakeRepo) -> None:
    root = make_repo({"in/a.py": TEXT, "out/b.py": TEXT, "c.py": TEXT})
    git(root, "sparse-checkout", "set", "in")
    assert not (root / "out").exists()
    assert isinstance(land(root, {"in/a.py": NEW, "out/b.py": NEW}), Committed)
    assert status(root) == [] and not (root / "out").exists()
    assert git(root, "show", "HEAD:out/b.py") == NEW
    git(root, "sparse-checkout", "disable")
    assert (root / "out/b.py").read_text() == NEW and status(root) == []


@pytest.mark.parametrize("kind", ["split", "sparse"])
def test_index_that_libgit2_cannot_read_is_left_to_git(make_repo: MakeRepo, kind: str) -> None:
    root = make_repo({"in/a.py": TEXT, "in/b.py": TEXT, "out/c.py": TEXT, "in/d.py": TEXT})
    if kind == "split":
        git(root, "update-index", "--split-index")
    else:
        git(root, "sparse-checkout", "set", "--sparse-index", "in")
    write(root, {"in/b.py": EDITED})
    result = land(root, {"in/a.py": NEW, "in/b.py": NEW, "in/new.py": "n\n", "in/d.py": None})
    assert isinstance(result, Committed) and result.merged == ("in/b.py",)
    assert status(root) == [" M in/b.py"] and (root / "in/b.py").read_text() == BOTH


# ----------------------------------------------------- in the same file: merged, not committed


# I14
def test_edit_in_another_node_is_kept_and_not_committed(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    write(root, {A: EDITED})
    result = land(root, {A: NEW, OTHER: NEW})
    assert isinstance(result, Committed) and result.merged == (A,)
    assert (root / A).read_text() == BOTH
    assert git(root, "show", "HEAD:a.py") == NEW == git(root, "show", ":a.py")
    assert status(root) == [" M a.py"]
    assert git(root, "diff", "--stat").count("2 +-") == 1


def test_merged_file_keeps_its_permissions(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    write(root, {A: EDITED})
    (root / A).chmod(0o640)
    land(root, {A: NEW})
    assert stat.S_IMODE((root / A).stat().st_mode) == 0o640


def test_exec_bit_that_a_person_set_stays_uncommitted(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    (root / A).chmod(0o755)
    assert isinstance(land(root, {A: NEW}), Committed)
    assert (root / A).read_text() == NEW and (root / A).stat().st_mode & stat.S_IXUSR
    assert git(root, "ls-tree", "HEAD", A).startswith("100644")
    assert status(root) == [" M a.py"]


def test_exec_bit_means_nothing_without_file_mode(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    git(root, "config", "core.fileMode", "false")
    (root / A).chmod(0o755)
    assert isinstance(land(root, {A: NEW}), Committed)
    assert status(root) == [] and (root / A).read_text() == NEW


def test_edit_that_already_holds_the_wave_needs_no_write(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    write(root, {A: BOTH})
    stamp = (root / A).stat().st_mtime_ns
    assert isinstance(land(root, {A: NEW}), Committed)
    assert (root / A).read_text() == BOTH and (root / A).stat().st_mtime_ns == stamp
    assert status(root) == [" M a.py"]


@pytest.mark.parametrize("staged", [False, True])
def test_file_that_is_already_as_the_wave_wants_is_adopted(
    make_repo: MakeRepo, staged: bool
) -> None:
    root = make_repo({A: TEXT, "gone.py": "g\n"})
    write(root, {A: NEW, "new.py": "n\n"})
    (root / "gone.py").unlink()
    if staged:
        git(root, "add", "-A")
    assert isinstance(land(root, {A: NEW, "new.py": "n\n", "gone.py": None}), Committed)
    assert status(root) == [] and git(root, "diff-files") == ""


def test_file_saved_while_the_wave_is_committed_is_merged_anew(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    saves = {"P1": EDITED, "P3": EDITED + "eight\n"}

    def fault(phase: str) -> None:
        if phase in saves:
            write(root, {A: saves.pop(phase)})

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: NEW, OTHER: NEW}, fault=fault))
        is_sound(store)
    assert isinstance(result, Committed) and not saves
    assert (root / A).read_text() == BOTH + "eight\n"
    assert status(root) == [" M a.py"]


@pytest.mark.parametrize("phase", ["P4.index", "P4.tree", "P4.file", "P4"])
def test_save_after_the_files_were_written_is_kept(make_repo: MakeRepo, phase: str) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    write(root, {A: EDITED})
    saved = []

    def fault(reached: str) -> None:
        if reached == phase and not saved:
            saved.append((root / A).read_text() + "eight\n")
            write(root, {A: saved[0]})

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: NEW, OTHER: NEW}, fault=fault))
        is_sound(store)
    assert isinstance(result, Committed)
    assert (root / A).read_text() == BOTH + "eight\n"
    assert status(root) == [" M a.py"]


def test_file_that_never_stops_changing_holds_the_wave(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    count = 0

    def fault(phase: str) -> None:
        nonlocal count
        if phase == "P3":
            count += 1
            write(root, {A: f"{EDITED}{count}\n"})

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: NEW, OTHER: NEW}, fault=fault))
        is_sound(store)
    assert isinstance(result, WaveHeld) and result.paths == (A,)
    assert "again and again" in result.reason
    assert (root / A).read_text() == f"{EDITED}{count}\n"
    assert status(root) == [" M a.py"]


# ------------------------------------------------------------------- in the way: wave is held


def _edit_same_node(root: Path) -> None:
    write(root, {A: CLASH})


def _stage(root: Path) -> None:
    write(root, {A: EDITED})
    git(root, "add", A)


def _stage_and_revert(root: Path) -> None:
    _stage(root)
    write(root, {A: TEXT})


def _remove_from_index(root: Path) -> None:
    git(root, "rm", "-q", "--cached", A)


def _delete(root: Path) -> None:
    (root / A).unlink()


def _delete_staged(root: Path) -> None:
    git(root, "rm", "-q", A)


def _assume_unchanged(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", A)
    write(root, {A: EDITED})


def _skip_worktree(root: Path) -> None:
    git(root, "update-index", "--skip-worktree", A)
    write(root, {A: EDITED})


def _symlink(root: Path) -> None:
    (root / A).rename(root / "moved.py")
    (root / A).symlink_to("moved.py")


def _directory(root: Path) -> None:
    (root / A).unlink()
    (root / A).mkdir()


def _fifo(root: Path) -> None:
    (root / A).unlink()
    os.mkfifo(root / A)


def _conflict(root: Path) -> None:
    blob = git(root, "hash-object", "-w", "--stdin", text=CLASH).strip()
    base = git(root, "rev-parse", "HEAD:a.py").strip()
    stages = "".join(f"100644 {oid} {n}\ta.py\n" for n, oid in ((1, base), (2, blob), (3, base)))
    git(root, "update-index", "--index-info", text=f"0 {'0' * 40}\ta.py\n{stages}")
    write(root, {A: CLASH})


# I14
@pytest.mark.parametrize(
    ("act", "says"),
    [
        (_edit_same_node, "it was edited where the wave edits it: commit, stash or undo"),
        (_stage, "it has staged changes: commit them, or git restore --staged 'a.py'"),
        (_stage_and_revert, "it has staged changes"),
        (_remove_from_index, "its deletion is staged: git restore --staged 'a.py'"),
        (_delete, "it was deleted: git restore 'a.py', or commit the deletion"),
        (_delete_staged, "its deletion is staged"),
        (_assume_unchanged, "git update-index --no-assume-unchanged 'a.py'"),
        (_skip_worktree, "git update-index --no-skip-worktree 'a.py'"),
        (_symlink, "a symbolic link is in its place"),
        (_directory, "a directory is in its place"),
        (_fifo, "something that is no file is in its place"),
        (_conflict, "it has an unresolved conflict: resolve it and git add 'a.py'"),
    ],
)
def test_what_cannot_be_kept_holds_the_wave_and_stays(
    make_repo: MakeRepo, act: Callable[[Path], None], says: str
) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    with Store.open(root) as store:
        act(root)
        before = status(root), _text(root / A), git(root, "ls-files", "-s", "-v")
        result = commit_wave(store, wave(store, {A: NEW, OTHER: NEW, "new.py": "n\n"}))
        is_sound(store)
    assert isinstance(result, WaveHeld) and result.paths == (A,)
    assert f"{A}: " in result.reason and says in result.reason
    assert (status(root), _text(root / A), git(root, "ls-files", "-s", "-v")) == before
    assert (root / OTHER).read_text() == TEXT and not (root / "new.py").exists()


def _text(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


@pytest.mark.parametrize("ignored", [False, True])
def test_untracked_file_in_the_way_is_never_overwritten(make_repo: MakeRepo, ignored: bool) -> None:
    root = make_repo({A: TEXT, ".gitignore": "new.py\n" if ignored else ""})
    write(root, {"new.py": "mine\n"})
    result = land(root, {A: NEW, "new.py": "wave's\n"})
    assert isinstance(result, WaveHeld) and "an untracked file is in its place" in result.reason
    assert (root / "new.py").read_text() == "mine\n" and (root / A).read_text() == TEXT


@pytest.mark.parametrize("link", [False, True])
def test_folder_that_is_none_holds_the_wave(
    make_repo: MakeRepo, tmp_path: Path, link: bool
) -> None:
    root = make_repo({A: TEXT})
    (tmp_path / "outside").mkdir()
    if link:
        (root / "pkg").symlink_to(tmp_path / "outside")
    else:
        write(root, {"pkg": "a file\n"})
    result = land(root, {"pkg/new.py": "n\n"})
    assert isinstance(result, WaveHeld) and "a folder above it" in result.reason
    assert list((tmp_path / "outside").iterdir()) == []


def test_edited_file_that_the_wave_deletes_is_kept(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    write(root, {A: EDITED})
    result = land(root, {A: None, OTHER: NEW})
    assert isinstance(result, WaveHeld) and "the wave deletes it" in result.reason
    assert (root / A).read_text() == EDITED and (root / OTHER).read_text() == TEXT


def test_staging_during_the_commit_holds_the_wave(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    write(root, {A: EDITED})

    def fault(phase: str) -> None:
        if phase == "P4.index":
            git(root, "add", A)

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: NEW, OTHER: NEW}, fault=fault))
        is_sound(store)
    assert isinstance(result, WaveHeld) and "it has staged changes" in result.reason
    assert status(root) == ["M  a.py"] and (root / A).read_text() == EDITED
    assert (root / OTHER).read_text() == TEXT


def test_held_index_lock_is_waited_for_and_named(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mak.store.wave._PATIENCE", 0.1)
    root = make_repo({A: TEXT})
    lock = root / ".git/index.lock"
    with Store.open(root) as store:
        lock.touch()
        result = commit_wave(store, wave(store, {A: NEW}))
        assert isinstance(result, WaveHeld) and f"rm '{lock}'" in result.reason
        lock.unlink()
        is_sound(store)
    assert status(root) == [] and (root / A).read_text() == TEXT


def test_index_lock_taken_in_the_middle_is_waited_for(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    lock = root / ".git/index.lock"
    goes: list[str] = []

    def fault(phase: str) -> None:
        if phase == "P3" and len(goes) < 3:
            lock.touch()
            goes.append(phase)
        elif phase == "P0":
            lock.unlink(missing_ok=True)

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: NEW}, fault=fault))
        is_sound(store)
    assert isinstance(result, Committed) and len(goes) == 3


def test_file_that_cannot_be_written_takes_the_wave_back(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, "zz/b.py": TEXT})

    def fault(phase: str) -> None:
        if phase == "P3":  # git will write a.py, and stumble over what is in the other's way
            (root / "zz/new.py").mkdir()
            (root / "zz/new.py/person.txt").write_text("mine\n")

    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: NEW, "zz/new.py": "n\n"}, fault=fault))
        is_sound(store)
    assert isinstance(result, WaveHeld)
    assert (root / A).read_text() == TEXT
    assert (root / "zz/new.py/person.txt").read_text() == "mine\n"


# ---------------------------------------------------------------------------- uncommitted


def test_uncommitted_lists_what_differs_in_any_way(make_repo: MakeRepo) -> None:
    names = ["clean", "edited", "staged", "reverted", "gone", "assumed", "mode", "uncached"]
    root = make_repo({**{f"{name}.py": TEXT for name in names}, ".gitignore": "ignored.py\n"})
    write(root, {"staged.py": NEW, "reverted.py": NEW})
    git(root, "add", "staged.py", "reverted.py")
    git(root, "update-index", "--assume-unchanged", "assumed.py")
    git(root, "rm", "-q", "--cached", "uncached.py")
    more = {"edited.py": NEW, "reverted.py": TEXT, "assumed.py": NEW}
    write(root, {**more, "untracked.py": "u\n", "ignored.py": "i\n"})
    (root / "gone.py").unlink()
    (root / "mode.py").chmod(0o755)
    (root / "clean.py").touch()
    paths = [f"{name}.py" for name in [*names, "untracked", "ignored", "absent"]]
    with Store.open(root) as store:
        assert store.uncommitted(paths) == [p for p in paths if p not in ("clean.py", "absent.py")]


def test_edit_with_the_same_size_and_time_is_seen(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    old = (root / A).stat()
    write(root, {A: TEXT.replace("one", "eno")})
    os.utime(root / A, ns=(old.st_atime_ns, old.st_mtime_ns))
    with Store.open(root) as store:
        assert store.uncommitted([A]) == [A]


def test_odd_names_are_looked_at_as_they_are(make_repo: MakeRepo) -> None:
    names = ["new\nline.py", "tab\t.py", "-dash.py", "*.py", ":(top)x.py", 'q"uote.py', "ü.py"]
    root = make_repo(dict.fromkeys(names, TEXT))
    write(root, {names[0]: EDITED, "*.py": EDITED})
    with Store.open(root) as store:
        assert store.uncommitted(names) == [names[0], "*.py"]
    assert isinstance(land(root, dict.fromkeys(names, NEW)), Committed)
    assert {(root / name).read_text() for name in names} == {NEW, BOTH}
    assert git(root, "diff", "--name-only", "-z").split("\0")[:-1] == ["*.py", names[0]]


# ---------------------------------------------------------- line endings, filters, NUL bytes

_CRLF = TEXT.replace("\n", "\r\n").encode()
_NUL = b"one\0\ntwo\nthree\nfour\nfive\n\0six\nseven\n"

#: Attributes, configuration, and the file as a person wrote it.
MATRIX = {
    "plain": ("", {}, TEXT.encode()),
    "autocrlf-true": ("", {"core.autocrlf": "true"}, _CRLF),
    "autocrlf-input": ("", {"core.autocrlf": "input"}, TEXT.encode()),
    "text": ("*.py text", {}, TEXT.encode()),
    "text-auto": ("* text=auto", {}, TEXT.encode()),
    "text-auto-crlf-in-blob": ("", {}, _CRLF),
    "eol-crlf": ("*.py text eol=crlf", {}, _CRLF),
    "core-eol": ("*.py text", {"core.eol": "crlf"}, _CRLF),
    "minus-text": ("*.py -text", {"core.autocrlf": "true"}, _CRLF),
    "ident": ("*.py ident", {}, b"# $Id$\n" + TEXT.encode()),
    "ident-crlf": ("*.py ident eol=crlf", {}, b"# $Id$\r\n" + _CRLF),
    "safecrlf": ("*.py text", {"core.safecrlf": "true"}, TEXT.encode()),
    "mixed": ("", {}, b"one\r\ntwo\nthree\r\nfour\nfive\nsix\nseven\n"),
    "nul": ("", {}, _NUL),
    "nul-autocrlf": ("", {"core.autocrlf": "true"}, _NUL.replace(b"\n", b"\r\n")),
    "filter": (
        "*.py filter=rot",
        {
            "filter.rot.clean": "tr a-zA-Z n-za-mN-ZA-M",
            "filter.rot.smudge": "tr a-zA-Z n-za-mN-ZA-M",
        },
        TEXT.encode(),
    ),
    "filter-nul": (
        "*.py filter=rot",
        {
            "filter.rot.clean": "tr a-zA-Z n-za-mN-ZA-M",
            "filter.rot.smudge": "tr a-zA-Z n-za-mN-ZA-M",
        },
        _NUL,
    ),
    "utf-16": ("*.py working-tree-encoding=UTF-16", {}, TEXT.encode("utf-16")),
    "latin-1": ("*.py working-tree-encoding=ISO-8859-1", {}, b"# \xe9\n" + TEXT.encode()),
}


@pytest.mark.parametrize("edited", [False, True], ids=["clean", "edited"])
@pytest.mark.parametrize("case", MATRIX)
def test_attributes_and_filters_count_in_every_direction(
    make_repo: MakeRepo, case: str, edited: bool
) -> None:
    attributes, config, content = MATRIX[case]
    root = make_repo({".gitattributes": f"{attributes}\n"})
    for name, value in config.items():
        git(root, "config", name, value)
    write(root, {A: content})
    git(root, "add", A)
    git(root, "commit", "-q", "-m", "file")
    (root / A).unlink()
    git(root, "checkout", "--", A)
    assert status(root) == []
    checked_out = (root / A).read_bytes()
    encoding = "utf-16" if case == "utf-16" else "latin-1"
    mine = checked_out.decode(encoding).replace("seven", "SEVEN").encode(encoding)
    if edited:
        (root / A).write_bytes(mine)
    blob = subprocess.run(
        ["git", "show", "HEAD:a.py"], cwd=root, capture_output=True, check=True
    ).stdout
    first, wanted = (b"bar", b"BAR") if "filter" in case else (b"one", b"ONE")
    assert first in blob
    with Store.open(root) as store:
        result = commit_wave(store, wave(store, {A: blob.replace(first, wanted, 1)}))
        is_sound(store)
    assert isinstance(result, Committed), result
    expected = mine if edited else checked_out
    found = (root / A).read_bytes()
    if "ident" in case:  # the id that is expanded in the file is that of the new blob
        found, expected = found.split(b"\n", 1)[1], expected.split(b"\n", 1)[1]
    assert found == expected.decode(encoding).replace("one", "ONE", 1).encode(encoding)
    assert status(root) == ([" M a.py"] if edited else [])
    write(root, {"trigger": "x"})
    os.utime(root / A, (time.time() + 5, time.time() + 5))
    assert git(root, "diff", "--name-only").split() == ([A] if edited else [])


def test_wave_that_git_would_see_as_changed_at_once_is_held(make_repo: MakeRepo) -> None:
    root = make_repo({".gitattributes": "*.py text\n", A: TEXT, OTHER: TEXT})
    result = land(root, {A: NEW.replace("\n", "\r\n"), OTHER: NEW})
    assert isinstance(result, WaveHeld) and "git add --renormalize 'a.py'" in result.reason
    assert status(root) == [] and (root / OTHER).read_text() == TEXT


def test_attributes_that_a_wave_brings_count_for_its_files(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT, OTHER: TEXT})
    result = land(root, {".gitattributes": "*.py text\n", A: NEW.replace("\n", "\r\n")})
    assert isinstance(result, WaveHeld) and "git add --renormalize 'a.py'" in result.reason
    assert status(root) == [] and not (root / ".gitattributes").exists()
    assert isinstance(land(root, {".gitattributes": "*.py text\n", A: NEW}), Committed)


def test_file_that_git_sees_as_changed_in_every_checkout_is_named(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT.replace("\n", "\r\n")})
    write(root, {".gitattributes": "*.py text\n"})
    git(root, "add", ".gitattributes")
    git(root, "commit", "-q", "-m", "attributes without renormalizing")
    result = land(root, {A: NEW.replace("\n", "\r\n")})
    assert isinstance(result, WaveHeld) and "git add --renormalize 'a.py'" in result.reason


# ---------------------------------------------------------------------------------- looking


def test_look_tells_apart_what_stands_at_a_path(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo({A: TEXT, "d/x.py": "x\n"})
    (root / "dangling").symlink_to("nowhere")
    (root / "folder-link").symlink_to(root / "d")
    with Store.open(root) as store:
        names = [A, "none", "none/x", "d", "dangling", "folder-link/x.py", "a.py/x"]
        found = Worktree.of(store.repository).look(names)
    kinds = [Kind.FILE, Kind.ABSENT, Kind.ABSENT, Kind.DIRECTORY, Kind.LINK]
    assert [one.kind for one in found.values()] == [*kinds, Kind.BLOCKED, Kind.BLOCKED]
    assert found[A].oid == git(root, "rev-parse", "HEAD:a.py").strip()
    assert found["dangling"].oid == git(root, "hash-object", "--stdin", text="nowhere").strip()


def test_file_is_replaced_only_while_it_is_the_one_looked_at(make_repo: MakeRepo) -> None:
    root = make_repo({A: TEXT})
    with Store.open(root) as store:
        tree = Worktree.of(store.repository)
        found = tree.look([A, "new.py"])
        write(root, {A: "newer\n", "new.py": "mine\n"})
        assert not place.put(tree, A, b"x", found[A], "tag", mode=0, durable=True)
        assert not place.put(tree, "new.py", b"x", found["new.py"], "tag", mode=0, durable=True)
        assert not place.remove(tree, A, found[A], "tag")
    assert (root / A).read_text() == "newer\n" and (root / "new.py").read_text() == "mine\n"
    assert left_over(root) == []


@pytest.mark.parametrize("waves", [3, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("style", ["append", "rewrite", "rename"])
def test_what_an_editor_saves_all_the_time_is_never_lost(
    make_repo: MakeRepo, style: str, waves: int
) -> None:
    """Saves fall between any two steps of a wave, also between the look and the write."""
    names = [f"f{i}.py" for i in range(4)]
    root = make_repo(dict.fromkeys(names, TEXT))
    saves, stop = root.parent / "saves", root.parent / "stop"
    pauses = random.Random(1)

    def edit() -> None:
        with saves.open("a", buffering=1) as log:
            for number in itertools.count():
                if stop.exists():
                    return
                file = root / names[number % len(names)]
                mark = f"# {number}\n"
                _save(file, mark, style)
                log.write(f"{file.name} {mark}")
                time.sleep(0.0002 if number % 4 else pauses.uniform(0.02, 0.12))

    pid = forked(edit)
    with Store.open(root) as store:
        for number in range(waves + 1):
            if number == waves:
                stop.touch()
                assert ended(pid) == 0
            files = {name: TEXT.replace("one", f"ONE {number}") for name in names}
            result = commit_wave(store, wave(store, files, merge=_merge_marks))
        is_sound(store)
    assert isinstance(result, Committed)
    for line in saves.read_text().splitlines():
        name, mark = line.split(" ", 1)
        assert f"{mark}\n" in (root / name).read_text(), mark
    assert "# " not in git(root, "show", "HEAD")


def _save(file: Path, mark: str, style: str) -> None:
    if style == "append":
        with file.open("a") as stream:
            stream.write(mark)
        return
    text = file.read_text() + mark
    if style == "rewrite":
        file.write_text(text)
        return
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


def _merge_marks(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Keep the marks of the person, whatever their text was made from."""
    return ours + b"".join(line for line in theirs.splitlines(keepends=True) if line[:1] == b"#")
