"""Every slash command: what it shows on the screen, what it changes, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mak.cli.app.commands import SLASHES
from tests.app.conftest import FILES, PLAN, RENAMED, Open, scripted
from tests.conftest import git
from tests.pages import OLLAMA, PLAIN, serving
from tests.terminal import CTRL_C, ENTER, Terminal

#: What the app was to have at least.
WANTED = [
    "help",
    "status",
    "apikey",
    "work-dir",
    "models",
    "planner",
    "refresh-models",
    "local",
    "mode",
    "max-agents",
    "config",
    "endpoint",
    "no-review",
    "plan",
    "runs",
    "show",
    "undo",
    "recover",
    "locks",
    "check",
    "clear",
    "exit",
]
KEY = "sk-canary-0123456789"


def say(terminal: Terminal, typed: str, *shown: str) -> str:
    """Type a line, and wait for what is shown below it; a long one may be broken."""
    terminal.type(f"{typed}{ENTER}")
    return terminal.wait(*shown, after=f"> {typed[:50]}")


def files(*folders: Path) -> dict[str, bytes]:
    """Return all files below folders, but for what was typed and Git's and MAK's caches."""
    every = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    aside = ("/.git/", "/.local/state/mak/", "/.cache/")
    return {str(p): p.read_bytes() for p in every if not any(part in str(p) for part in aside)}


def test_the_commands_that_were_wanted_are_there() -> None:
    assert {*WANTED} <= {slash.name for slash in SLASHES}
    assert next(slash for slash in SLASHES if "quit" in slash.aliases).name == "exit"


def test_help_lists_every_command_and_tells_about_one(open_app: Open, home: Path) -> None:
    terminal = open_app(rows=60)
    shown = say(terminal, "/help", "Keys", "Ctrl+D  leave")
    for slash in SLASHES:
        assert slash.usage in shown
    say(terminal, "/help exit", "/exit  leave", "also /quit")
    say(terminal, "/help /show", "takes the options of mak show: /show --help")
    say(terminal, "/help nothing", "there is no command /nothing")
    say(terminal, "/show --help", "usage: mak show", "--task")


def test_what_writes_no_file_says_so_by_saying_nothing(
    open_app: Open, root: Path, home: Path
) -> None:
    """A command whose line does not speak of writing leaves every file as it was."""
    terminal = open_app(rows=60)
    say(terminal, "rename function a.old to new", "[a]pprove")
    terminal.type(f"a{ENTER}")
    terminal.wait("/diff shows the lines")
    before = files(root, home)
    typed = {
        "help": "",
        "status": "",
        "plan": "rename function a.other to another",
        "runs": "",
        "show": "",
        "diff": "",
        "locks": "",
        "check": "",
        "models": "builtin",
        "planner": "builtin",
        "max-agents": "3",
        "mode": "local",
        "no-review": "",
        "work-dir": ".",
        "config": "",
        "clear": "",
    }
    for name, rest in typed.items():
        line = f"/{name} {rest}".rstrip()
        terminal.type(f"{line}{ENTER}")
        terminal.until(lambda: terminal.lines[-1].startswith(" builtin"), "no prompt")
    say(terminal, "/max-agents 2", "2 agents at most at once")
    assert files(root, home) == before
    others = {slash.name for slash in SLASHES} - {*typed}
    told = {slash.name for slash in SLASHES if "writ" in slash.help}
    # What is left changes the branch, as its line says, or ends the app.
    assert others - told == {"undo", "recover", "exit"}


def test_status_says_all_that_holds(open_app: Open, root: Path, home: Path) -> None:
    (root / "a.py").write_text("")
    terminal = open_app(ready="main, 1 changed", columns=200)
    say(
        terminal,
        "/status",
        "models    builtin",
        "planner   builtin",
        "agents    at most 4 at once",
        "mode      anywhere",
        f"work dir  {root}",
        "branch    main, 1 uncommitted file",
        ".mak/config.yaml",
        "approval  every plan is reviewed",
        "used      no tokens",
    )


def test_models_and_planner_are_chosen_for_the_session(open_app: Open, home: Path) -> None:
    terminal = open_app()
    say(terminal, "/models", "Tasks are done by builtin", "Next: /models SPEC")
    say(terminal, "/models openai:gpt-5 anthropic", "Tasks are done by openai:gpt-5, anthropic")
    terminal.wait("openai:gpt-5 +1 · planner same")
    say(terminal, "/planner anthropic", "Plans are made by anthropic")
    terminal.wait("openai:gpt-5 +1 · planner anthropic · 4 agents")
    say(terminal, "/planner", "Plans are made by anthropic")
    say(terminal, "/models gpt-5", "gpt-5")
    terminal.wait("openai:gpt-5 +1 · planner anthropic · 4 agents")


def test_max_agents_mode_and_review_are_shown_in_the_bar(open_app: Open, home: Path) -> None:
    terminal = open_app()
    say(terminal, "/max-agents", "4 agents at most at once")
    say(terminal, "/max-agents 1", "1 agent at most at once")
    terminal.wait("· 1 agent ·")
    say(terminal, "/mode", "Models may run anywhere")
    say(terminal, "/mode cloud", "Models may run cloud")
    say(terminal, "/mode nowhere", "\nmode: should be 'cloud', 'local' or 'hybrid'")
    say(terminal, "/mode local", "Models may run local")
    say(terminal, "/models anthropic", "mode is local")
    say(terminal, "/no-review", "Plans are carried out without a review")
    terminal.wait("· no review ·")
    say(terminal, "/no-review false", "Plans are reviewed")
    terminal.wait("· review ·")
    say(terminal, "/no-review maybe", "/no-review maybe: write true or false")


def test_a_plan_is_carried_out_unasked_without_review(
    open_app: Open, root: Path, home: Path
) -> None:
    terminal = open_app()
    say(terminal, "/no-review", "without a review")
    shown = say(terminal, "rename function a.old to new", "/diff shows the lines")
    assert "[a]pprove" not in shown
    assert "a.new()" in (root / "b.py").read_text()


def test_work_dir_goes_to_another_repository(
    make_repo: Callable[..., Path], open_app: Open, root: Path, home: Path, tmp_path: Path
) -> None:
    other = make_repo({"x.py": "def f():\n    return 1\n", "sub/y.py": ""}, "other")
    git(other, "checkout", "-q", "-b", "elsewhere")
    terminal = open_app(columns=200)
    say(terminal, "/work-dir ../other", f"The work dir is {other}")
    terminal.wait("elsewhere, clean")
    say(terminal, "/plan rename function x.f to g", "writes   x.py::f#api")
    say(terminal, "/work-dir sub", f"The work dir is {other / 'sub'}")
    say(terminal, "/work-dir ../..", "not in a Git repository")
    say(terminal, "/work-dir", f"The work dir is {other / 'sub'}")
    assert git(root, "log", "--format=%s") == "base\n"


def test_config_is_shown_and_another_one_taken(open_app: Open, root: Path, home: Path) -> None:
    (root.parent / "mine.yaml").write_text("max_agents: 9\nmodels: [anthropic]\n")
    terminal = open_app(rows=60)
    say(terminal, "/config", "max_agents: 4")
    say(terminal, "/config ../mine.yaml", "mine.yaml holds")
    terminal.wait("anthropic · planner same · 9 agents")
    say(terminal, "/max-agents 2", "2 agents at most")
    say(terminal, "/config ../none.yaml", "none.yaml")
    terminal.wait("anthropic · planner same · 2 agents")


def test_apikey_asks_and_never_shows_a_key(open_app: Open, root: Path, home: Path) -> None:
    terminal = open_app()
    say(terminal, "/apikey", "There is no key. Next: /apikey anthropic")
    say(terminal, "/apikey openai", "OPENAI_API_KEY (not shown):")
    terminal.type(f"{KEY}{ENTER}")
    terminal.wait("OPENAI_API_KEY is stored in ")
    say(terminal, "/apikey", "OPENAI_API_KEY  ")
    say(terminal, "/apikey nobody", "'nobody' is neither a variable nor a provider")
    say(terminal, f"/apikey openai {KEY}x", "and does not show it")
    assert KEY in (home / ".config/mak/.env").read_text()
    assert KEY not in terminal.text.replace(f"/apikey openai {KEY}x", "")
    for path in (home / ".local/state/mak").iterdir():
        assert KEY not in path.read_text()


def test_endpoint_is_added_listed_shown_and_removed(open_app: Open, root: Path, home: Path) -> None:
    kept = home / ".config/mak/endpoints.json"
    terminal = open_app()
    with serving(PLAIN) as url:
        say(terminal, f"/endpoint add work --url {url}/v1 --model m1", "work")
        assert json.loads(kept.read_text())["endpoints"]["work"]["model"] == "m1"
        say(terminal, "/endpoint", "work", url)
        say(terminal, "/endpoint show work", "model: m1")
        say(terminal, "/models work:m1", "Tasks are done by work:m1")
        say(terminal, "/models builtin", "Tasks are done by builtin")
        say(terminal, "/refresh-models work", "work:m1")
        say(terminal, "/endpoint remove work", "work")
    assert json.loads(kept.read_text())["endpoints"] == {}
    say(terminal, "/endpoint show work", "no provider or endpoint is called 'work'")
    say(terminal, "/endpoint ad", "ad")


def test_local_finds_servers_and_remembers_hosts(open_app: Open, root: Path, home: Path) -> None:
    kept = home / ".config/mak/endpoints.json"
    with serving(OLLAMA) as url:
        terminal = open_app()
        host = url.removeprefix("http://")
        say(terminal, f"/local url {host}", "is remembered in")
        assert json.loads(kept.read_text())["hosts"] == [host]
        shown = say(terminal, "/local", "qwen3-coder:30b", "tiny:1b", "Next: /models ")
        spec = shown.rpartition("Next: /models ")[2].split()[0]
        say(terminal, f"/models {spec}", f"Tasks are done by {spec}")
        say(terminal, f"/local url {host} --forget", "is forgotten")
    assert not json.loads(kept.read_text()).get("hosts")


def test_runs_show_and_locks_tell_what_git_remembers(
    open_app: Open, root: Path, home: Path
) -> None:
    terminal = open_app(rows=60)
    say(terminal, "/runs", "no run is recorded in this repository")
    say(terminal, "/show", "no run is recorded in this repository")
    say(terminal, "rename function a.old to new", "[a]pprove")
    terminal.type(f"a{ENTER}")
    terminal.wait("/diff shows the lines")
    say(terminal, "/runs", "REQUEST", "done on main", "2/2")
    shown = say(terminal, "/show", "request  rename function a.old to new", "wave 1", "attempt 1")
    run = next(line.split()[1] for line in shown.splitlines() if line.startswith("run      "))
    terminal.type(f"/show {run[:6]}\t --task t\t")
    terminal.wait(f"> /show {run} --task t")
    terminal.type(f"1{ENTER}")
    terminal.wait("edit    a.py::old", after="--task t1")
    say(terminal, "/locks", "no locks are held")
    say(terminal, "/diff", "-def old():", "+def new():")


def test_undo_takes_back_the_run_that_is_named(open_app: Open, root: Path, home: Path) -> None:
    terminal = open_app()
    for request in ("rename function a.old to new", "rename function a.other to another"):
        say(terminal, request, "[a]pprove")
        terminal.type(f"a{ENTER}")
        terminal.wait("/diff shows the lines", after=f"> {request}")
    newest = say(terminal, "/show", "run      ").rpartition("run      ")[2].split()[0]
    say(terminal, f"/undo {newest[:9]}", "Took back 1 commit")
    assert "def other" in (root / "a.py").read_text() and "def new" in (root / "a.py").read_text()


def test_check_finds_what_a_change_of_ones_own_breaks(
    open_app: Open, root: Path, home: Path
) -> None:
    (root / "a.py").write_text(FILES["a.py"].replace("def old():", "def old(needed):"))
    terminal = open_app(ready="main, 1 changed")
    say(terminal, "/check", "b.py", "needed")
    say(terminal, "/check nowhere.py", "nowhere.py")


def test_recover_says_what_there_is_to_go_on_with(open_app: Open, root: Path, home: Path) -> None:
    spec = scripted(root, {"extra": [{**RENAMED, "delay_s": 600}]}, PLAN[2:])
    terminal = open_app()
    say(terminal, "/recover", "no run")
    say(terminal, f"/models {spec}", "Tasks are done by")
    say(terminal, "/no-review", "without a review")
    say(terminal, "do it", "works on a.py::other")
    terminal.type(CTRL_C)
    shown = terminal.wait("was interrupted", "Next: /recover ")
    run = shown.rpartition("Next: /recover ")[2].split()[0]
    terminal.type(f"/recover {run[:5]}\t")
    terminal.wait(f"> /recover {run}")
    terminal.type(CTRL_C)
    say(terminal, "/recover nothing", "no run 'nothing'")


def test_clear_empties_the_screen_and_keeps_what_scrolled_off(open_app: Open, home: Path) -> None:
    terminal = open_app()
    say(terminal, "/status", "used      no tokens")
    terminal.type(f"/clear{ENTER}")
    terminal.until(
        lambda: terminal.lines[0] == ">" and "main, clean" in terminal.lines[-1], "no clear screen"
    )
    assert not any("used" in line for line in terminal.lines)


@pytest.mark.parametrize("typed", ["/exit", "/quit"])
def test_exit_and_quit_leave(typed: str, open_app: Open, home: Path) -> None:
    terminal = open_app()
    terminal.type(f"{typed}{ENTER}")
    assert terminal.ended() == 0
