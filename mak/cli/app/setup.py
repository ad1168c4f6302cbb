"""The first start: a key, an endpoint, a local model or the built-in agent; all of it optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mak.cli import person, terminal
from mak.cli.app.wording import here
from mak.errors import MakError

if TYPE_CHECKING:
    from mak.cli.app.session import Session

#: Remembers that the set-up was offered, in a person's folder for such things.
MARK = "set-up"
#: Remembers the projects in which no configuration was wanted, one a line.
ASKED = "asked"

ROADS = """\
Who shall do the work? Enter skips this; /apikey, /endpoint, /local and /models do the same later.
  1  a model of a vendor, with a key of yours
  2  a model at another endpoint, a gateway for example
  3  a model that runs on this machine
  4  the built-in agent: refactorings, no model and no key"""


def is_due(session: Session) -> bool:
    """Whether there is anything to offer: to a newcomer, or in a project that has no settings."""
    return _is_new() or _is_bare(session)


def begin(session: Session) -> None:
    """Offer what is due."""
    if _is_new():
        _remember(MARK)
        session.say("This is the first start.", "bold")
        for line in ROADS.splitlines():
            session.say(line)
        answer = session.prompt.question("1, 2, 3 or 4?", words=["1", "2", "3", "4"])
        try:
            _take(session, answer)
        except MakError as error:
            session.say(f"{error}; /help lists what to do later", "yellow")
    if _is_bare(session):
        _offer(session)


def _is_new() -> bool:
    """Whether there is nothing of a person's, and they were not asked before."""
    folder = person.config_dir()
    return not folder.exists() and not (person.state_dir() / MARK).exists()


def _take(session: Session, answer: str) -> None:
    match answer:
        case "1":
            _key(session)
        case "2":
            _endpoint(session)
        case "3":
            _local(session)
        case "4":
            session.change(models=["builtin"])
            session.say("The built-in agent does the tasks. /help shows what else there is")
        case _:
            session.say("Skipped: the built-in agent does the tasks")


def _key(session: Session) -> None:
    names = person.key_names()
    provider = session.prompt.question("Which provider? (anthropic)", words=[*names]) or "anthropic"
    session.mak("keys", "set", provider)
    _choose(session, provider)


def _endpoint(session: Session) -> None:
    ask = session.prompt.question
    id, url = ask("A short name for it?"), ask("Its base URL?")
    if not id or not url:
        session.say("Skipped")
        return
    model = ask("Which model there?")
    key = ask("The variable of its key, for example WORK_API_KEY? (none)")
    more = [*(["--model", model] if model else []), *(["--key", key] if key else [])]
    session.mak("endpoint", "add", id, "--url", url, *more)
    if key and not person.variables().get(key, "").strip():
        session.mak("keys", "set", key)
    _choose(session, id)


def _local(session: Session) -> None:
    from mak.cli.commands.local import listed

    with terminal.speaking(reword=here):
        specs = listed(session.settings())
    if not specs:
        return
    spec = session.prompt.question("Which of these shall work? Enter takes the first", words=specs)
    _choose(session, spec or specs[0])


def _choose(session: Session, spec: str) -> None:
    """Let a model do the tasks here, and always, if that is wanted."""
    session.change(models=[spec])
    session.say(f"Tasks are done by {spec} in this session")
    path = person.config_dir() / "config.yaml"
    if path.exists():
        return
    if _agreed(session, f"Always, by writing {path}? (y/N)"):
        from mak.config import dump_yaml

        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(dump_yaml({"models": [spec]}), encoding="utf-8")
        session.say(f"Wrote {path}")


# --------------------------------------------------------------------------------- the project


def _is_bare(session: Session) -> bool:
    """Whether this is a repository without a folder for MAK, which was not asked about before."""
    folder = session.said.work_dir
    if not (folder / ".git").exists() or (folder / ".mak").exists():
        return False
    try:
        asked = (person.state_dir() / ASKED).read_text(encoding="utf-8").splitlines()
    except OSError:
        asked = []
    return str(folder) not in asked


def _offer(session: Session) -> None:
    _remember(ASKED, str(session.said.work_dir))
    if _agreed(session, "Create .mak/config.yaml, for the settings of this project? (y/N)"):
        session.mak("config", "init")


def _agreed(session: Session, text: str) -> bool:
    return session.prompt.question(text).lower() in ("y", "yes")


def _remember(name: str, line: str = "") -> None:
    path = person.state_dir() / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except OSError:
        return  # then it is offered again
