"""What people have said at an issue and its pull request since it was looked at last, in order.

Nothing relies on the event that woke us: all texts are listed, those that were dealt with are known
by their numbers, and each of the others changes the run's state once, by compare-and-swap.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from mak.errors import GitHubError
from mak.github import marks, messages, queueing
from mak.github.commands import Asked, Command, parse, sanitized
from mak.github.events import Press
from mak.github.ledger import Held, Lost
from mak.github.reduce import Begin, Done, Facts, Refuse, Stale, Tell, reduce
from mak.github.site import Site
from mak.github.state import (
    Answer,
    Offer,
    Person,
    Phase,
    RunState,
    Todo,
    Trigger,
    Wanted,
)

#: Seconds for which a comment is heard at an issue that has no run yet: as long as GitHub keeps
#: what it could not deliver.
RECENT = 3 * 24 * 3600
#: Characters of an issue's title and text that a planner is given.
CONTEXT = 8_000
#: Seconds between two words on where a run stands.
STATUS = 60
#: Commands that are heard while a plan is being made or changed; others wait until it is there.
_AT_ONCE = frozenset({"cancel", "status", "help", "edit", "drop", "keep", "add"})
#: And those that a job may hear that is not to do anything else.
HALTS = frozenset({"cancel", "pause"})
_WRITERS = frozenset({"admin", "write"})
_RUN = re.compile(r"r[0-9a-z]{1,32}", re.ASCII)
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Said:
    """A text that somebody wrote, wherever it stands."""

    #: `c81` a comment, `v7` a review, `l9` a comment on a line, `i42` the body of an issue.
    key: str
    id: int
    #: Where it is answered.
    number: int
    body: str
    author: Person
    #: Whether somebody else than a person wrote it.
    is_bot: bool
    app: int | None
    created: int
    updated: int
    url: str


def run_of(comment: int) -> str:
    """Return the id of the run that a comment asks for: the same whoever reads it."""
    digits = ""
    while comment:
        comment, digit = divmod(comment, 36)
        digits = _BASE36[digit] + digits
    return f"r{digits}"


def hear(site: Site, issue: int, *, only: frozenset[str] | None = None) -> Held | None:
    """Deal with what was said; return the issue's run as it is then, or None without one.

    It stops where a command has to wait for what was asked before it. With `only` other commands
    are left for whoever hears them all.
    """
    while True:
        held = site.ledger.of_issue(issue)
        try:
            return _hear(site, issue, held, only)
        except Lost:
            site.note(f"issue {issue}: somebody else was first, reading again")


def _hear(site: Site, issue: int, held: Held | None, only: frozenset[str] | None) -> Held | None:
    for said in sorted(_texts(site, issue, held), key=lambda said: (said.created, said.id)):
        if said.author.id in site.mine or _is_handled(held, said):
            continue
        asked = parse(said.body, site.alias)
        if not asked.count and not asked.unheard:
            continue
        if (said.is_bot or said.app is not None) and said.app not in site.policy.apps:
            continue
        if only is not None and not all(each.verb in only for each in asked.commands):
            continue
        if not asked.commands:
            held = _unread(site, issue, held, said, asked)
            continue
        verbs = {each.verb for each in asked.commands}
        if held and held.state.todo and not verbs <= _AT_ONCE:
            return held
        held = _carry(site, issue, held, said, asked)
    return held


def decline(site: Site, number: int, says: str) -> None:
    """Tell those whose commands cannot be dealt with now, so that nobody waits; once each."""
    held = site.ledger.of_issue(number)
    for said in sorted(_texts(site, number, None), key=lambda said: (said.created, said.id)):
        asked = parse(said.body, site.alias)
        if said.author.id in site.mine or not asked.count or _is_handled(held, said):
            continue
        if (said.is_bot or said.app is not None) and said.app not in site.policy.apps:
            continue
        may = _level(site, said)[0] in _WRITERS
        answers = [_answer(said, said.key, says)] if may else []
        _settle(site, None, said, answers, "confused")


def hear_press(site: Site, press: Press, delivery: str) -> int | None:
    """Deal with a button that was pressed, once; return the issue of its run, or None without one.

    What it says is meant of the plan that the check is about. That a check is of MAK's own is for
    the caller to see to.
    """
    run, _, what = press.check.partition(":")
    held = site.ledger.of_run(run) if _RUN.fullmatch(run) else None
    while held:
        issue = held.state.issue
        shown = {f"r{each.rev}": each for each in held.state.offers if each.repair}.get(what)
        newest = site.ledger.of_issue(issue)
        if not press.wants or shown is None or not newest or newest.state.run != run:
            return issue
        try:
            _press(site, newest, shown, press, delivery)
        except Lost:
            site.note(f"run {run}: somebody else was first, reading again")
            held = site.ledger.of_run(run)
        else:
            return issue
    return None


def _press(site: Site, held: Held, shown: Offer, press: Press, delivery: str) -> None:
    """Take a button as the command that it stands for."""
    state, moment = held.state, site.moment
    word = {"approve": shown.digest, "skip": "all", "cancel": ""}.get(press.wants)
    number = state.pull.number if state.pull else state.issue
    who = Person(press.person, press.login)
    bot = press.is_bot
    said = Said(f"b{delivery}", 0, number, "", who, bot, None, moment, moment, "")
    if word is None or bot or _is_handled(held, said):
        return
    permission, role = _level(site, said)
    key = f"{said.key}:1"
    facts = Facts(who, permission, moment, role, key, "", moment, shown.digest)
    after, effect = reduce(state, Command(press.wants, 1, word=word), facts, site.rules)
    answers: list[Answer] = []
    match effect:
        case Refuse(says) if says:
            answers.append(_answer(said, key, says))
        case Stale():
            answers.append(Answer(key, number, messages.stale(state, effect, facts)))
        case Done(says) if says:
            answers.append(Answer(key, number, messages.answer(says, key)))
    _settle(site, replace(held, state=after), said, answers, "")


def _is_handled(held: Held | None, said: Said) -> bool:
    if held is None:
        return False
    return any(key.partition(":")[0] == said.key for key in held.state.handled)


# ------------------------------------------------------------------------------------ the texts


def _texts(site: Site, issue: int, held: Held | None) -> Iterator[Said]:
    since = held.state.created if held else site.moment - RECENT
    stamp = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if held is None:
        yield from _of_issue(site, issue, since)
    for each in site.api.comments(issue, stamp):
        yield _said("c", issue, each)
    if held is None or held.state.pull is None:
        return
    pull = held.state.pull.number
    for each in site.api.comments(pull, stamp):
        yield _said("c", pull, each)
    for each in site.api.reviews(pull):
        yield _said("v", pull, {**each, "created_at": each.get("submitted_at")})
    for each in site.api.line_comments(pull):
        yield _said("l", pull, each)


def _of_issue(site: Site, issue: int, since: int) -> Iterator[Said]:
    """Yield the text of a new issue, whose first line may ask for a run."""
    found = site.reader.issue(issue)
    first = next((line for line in (found.get("body") or "").splitlines() if line.strip()), "")
    if found.get("pull_request") or not parse(first, site.alias).count:
        return
    said = _said("i", issue, found)
    if said.created >= since:
        # Anybody who may edit an issue edits it all day; what it said at first is not kept.
        yield replace(said, updated=said.created)


def _context(site: Site, issue: int) -> str:
    """Return what an issue says, as people see it and cut to what a planner is given of it."""
    found = site.reader.issue(issue)
    title, _ = sanitized(str(found.get("title") or ""))
    body, _ = sanitized(str(found.get("body") or ""))
    text = f"{' '.join(title.split())}\n\n{body}".strip()
    return text if len(text) <= CONTEXT else f"{text[:CONTEXT]}\n[…]"


def _said(letter: str, number: int, found: Mapping[str, Any]) -> Said:
    user = found.get("user") or {"id": 0, "login": "ghost", "type": "User"}
    app = found.get("performed_via_github_app") or {}
    created = _seconds(found.get("created_at"))
    return Said(
        key=f"{letter}{found['id']}",
        id=int(found["id"]),
        number=number,
        body=found.get("body") or "",
        author=Person(int(user["id"]), str(user["login"])),
        is_bot=user.get("type") != "User",
        app=app.get("id"),
        created=created,
        updated=_seconds(found.get("updated_at")) or created,
        url=str(found.get("html_url") or ""),
    )


def _seconds(stamp: object) -> int:
    return int(datetime.fromisoformat(str(stamp)).timestamp()) if stamp else 0


# ---------------------------------------------------------------------------------- what they do


def _unread(site: Site, issue: int, held: Held | None, said: Said, asked: Asked) -> Held | None:
    """Say why nothing of a text is done; to whom may not write, the sign alone."""
    answers: list[Answer] = []
    if asked.problem is not None and _level(site, said)[0] in _WRITERS:
        answers = [Answer(said.key, said.number, messages.misread(asked, said.key))]
    return _settle(site, held, said, answers, "confused")


def _carry(site: Site, issue: int, held: Held | None, said: Said, asked: Asked) -> Held | None:
    permission, role = _level(site, said)
    if said.updated != said.created and said.key[0] != "i":
        says = (
            "this comment was edited before I read it; nothing of it is done. Please write it anew."
        )
        told = [_answer(said, said.key, says)] if permission in _WRITERS else []
        return _settle(site, held, said, told, "confused")
    answers: list[Answer] = []
    sign = "eyes"
    for command in asked.commands:
        key = f"{said.key}:{command.line}"
        facts = Facts(said.author, permission, said.created, role, key, said.url, site.moment)
        if (why := _foreign(site, issue, command)) and permission in _WRITERS:
            sign = "confused"
            answers.append(_answer(said, key, why))
            continue
        state = held.state if held else RunState(Phase.DONE, Person(0, ""), issue=issue)
        after, effect = reduce(state, command, facts, site.rules)
        match effect:
            case Begin() if why := _spent(site, said.author):
                sign = "confused"
                answers.append(_answer(said, key, why))
                continue
            case Begin():
                # Not in the ledger yet: it gets there with all that this text makes of it.
                held = Held("", _begun(site, issue, held, said, command))
                continue
            case Refuse(says):
                sign = "confused"
                answers += [_answer(said, key, says)] if says else []
            case Stale():
                sign = "confused"
                body = messages.stale(state, effect, facts)
                answers.append(Answer(key, said.number, body))
            case Done(says):
                answers += [Answer(key, said.number, messages.answer(says, key))] if says else []
            case Tell():
                after, body = _told(site, held, after, command, key)
                answers += [Answer(key, said.number, body)] if body else []
        if held:
            held = replace(held, state=after)
    return _settle(site, held, said, answers, sign)


def _foreign(site: Site, issue: int, command: Command) -> str:
    """Say why a run cannot begin at a pull request; empty: it is an issue, or is not asked for."""
    if command.verb not in ("run", "plan") or not site.reader.issue(issue).get("pull_request"):
        return ""
    pull = site.reader.pull(issue)
    head, base = ((pull.get(end) or {}).get("repo") or {} for end in ("head", "base"))
    if not head or head.get("id") != base.get("id"):
        return (
            "this pull request comes from a fork: MAK runs nothing of it and does not check it"
            " out. Ask at an issue."
        )
    return f"`/mak {command.verb}` begins at an issue, and this is a pull request."


def _spent(site: Site, person: Person) -> str:
    """Say why somebody may not begin a run today; empty: they may."""
    most = site.policy.daily_usd_per_user
    if most is None or (spent := queueing.spent_today(site, person.id)) < most:
        return ""
    return (
        f"your runs have spent {spent:.2f} USD in the last 24 hours;"
        f" `daily_usd_per_user` is {most:.2f}. Nothing is begun."
    )


def _answer(said: Said, key: str, says: str) -> Answer:
    return Answer(key, said.number, messages.answer(f"@{said.author.login} {says}", key))


def _told(
    site: Site, held: Held | None, state: RunState, command: Command, key: str
) -> tuple[RunState, str]:
    """Return what is said of a run; where it was said a moment ago, nothing."""
    if command.verb == "help":
        return state, messages.help_text(command.word, key)
    if held is None:
        none = "There is no run here. `/mak` and what is to be done begins one."
        return state, messages.answer(none, key)
    if site.moment - int(state.facts.get("told", "0")) < STATUS:
        return state, ""
    rev = next((offer.rev for offer in reversed(state.offers) if not offer.repair), 0)
    proposal = site.ledger.proposal(held, rev) if rev and held.commit else None
    told = replace(state, facts={**state.facts, "told": str(site.moment)})
    return told, messages.status(state, proposal, site.links.of(state.run), site.moment, key)


def _settle(
    site: Site, held: Held | None, said: Said, answers: list[Answer], sign: str
) -> Held | None:
    """Note that a text has been dealt with, and what it is owed."""
    if held is None:
        _react(site, said, sign)
        for answer in answers:
            _answer_once(site, answer)
        return None
    state = held.state
    handled = (*state.handled, f"{said.key}:0")
    after = replace(state, answers=(*state.answers, *answers), handled=handled)
    # What `held` carries is what came of the text; the ledger has what was before it.
    held = site.ledger.write(held, after) if held.commit else site.ledger.begin(after)
    _react(site, said, sign)
    return held


def _answer_once(site: Site, answer: Answer) -> None:
    """Answer where there is no run to note it in: by looking whether the answer is there."""
    mark = marks.read(answer.body)
    for each in site.api.comments(answer.issue):
        mine = (each.get("user") or {}).get("id") in site.mine
        if mine and marks.read(each.get("body") or "") == mark:
            return
    site.api.comment(answer.issue, answer.body)


def _react(site: Site, said: Said, sign: str) -> None:
    """Show a sign; whether that works changes nothing."""
    try:
        if said.key[0] == "c":
            site.api.react(said.id, sign)
        elif said.key[0] == "l":
            site.api.react(said.id, sign, "pulls")
    except GitHubError as error:
        site.note(f"no sign on {said.key}: {error}")


def _level(site: Site, said: Said) -> tuple[str, str]:
    """Return what somebody may do, and as what; nothing where GitHub does not say."""
    if said.app is not None and said.app in site.policy.apps:
        return "write", "write"
    try:
        return site.api.permission(said.author.login)
    except GitHubError as error:
        site.note(f"no word on what @{said.author.login} may do: {error}")
        return "none", ""


def _begun(site: Site, issue: int, held: Held | None, said: Said, command: Command) -> RunState:
    """Return a run as it begins; the same for everybody who reads the comment."""
    repository = site.reader.repository()
    base = command.flag("base") or str(repository["default_branch"])
    commit = site.remote.refs(f"refs/heads/{base}").get(f"refs/heads/{base}", "")
    if not commit:
        raise GitHubError(f"beginning a run: there is no branch {base}")
    agents, waves = command.flag("agents"), command.flag("max-waves")
    budget = command.flag("budget")
    text, _ = sanitized(command.text)
    key = f"{said.key}:{command.line}"
    todo = Todo(command, said.author, key, said.created)
    run = run_of(said.id)
    return RunState(
        phase=Phase.PLANNING,
        requester=said.author,
        run=run,
        issue=issue,
        trigger=Trigger(
            said.id,
            said.url,
            command.line,
            said.created,
            hashlib.sha256(said.body.encode()).hexdigest(),
        ),
        request=text,
        context=_context(site, issue),
        wanted=Wanted(
            int(agents) if agents else None,
            int(waves) if waves else None,
            float(budget) if budget else None,
            command.flag("yes") is not None,
        ),
        base=base,
        base_commit=commit,
        plan_only=command.verb == "plan",
        todo=(todo,),
        handled=held.state.handled if held else (),
        created=said.created,
        since=said.created,
    )
