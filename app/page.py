"""The page of a run: what is planned, what is on the branch, where it stands, what it costs.

It is made from the run's document and nothing else. Whoever may write to a repository may write it,
so everything in it is text: escaped, and an address only where it is built here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape

from mak.github.state import ACTIVE, Offer, Proposal, RunState

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #8886; overflow-wrap: anywhere; }
code { font-size: .9em; }
.phase { padding: .1rem .6rem; border: 1px solid; border-radius: 1rem; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: Nothing is loaded, sent or run; the style is the one above.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
#: Seconds after which a browser asks for the page of an open run again.
_REFRESH = 10


def render(state: RunState, proposals: Mapping[int, Proposal], repository: str, web: str) -> str:
    """Return the page; `proposals` are by revision, `web` is the address of GitHub."""
    title = f"{repository} · run {state.run}"
    place = f"{web}/{repository}"
    parts = [
        f"<h1>{_text(repository)}, run <code>{_text(state.run)}</code></h1>",
        f'<p role="status"><span class="phase">{_text(state.phase)}</span> {_text(state.why)}</p>',
        _facts(state, place),
    ]
    # Of each plan what was offered last; plans of repairs are plans of their own.
    newest = {offer.repair: offer for offer in state.offers}
    for repair, offer in sorted(newest.items()):
        if offer.rev in proposals:
            parts.append(_plan(state, offer, proposals[offer.rev], repair))
    if state.waves:
        parts.append(_landed(state, place))
    refresh = f'<meta http-equiv="refresh" content="{_REFRESH}">' if state.phase in ACTIVE else ""
    return page(title, "\n".join(parts), refresh)


def page(title: str, body: str, head: str = "") -> str:
    """Return a document; the title is text, the rest is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n'
        f"{head}<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _facts(state: RunState, place: str) -> str:
    rows: list[tuple[str, str]] = [
        ("Asked for by", f"{_text(state.requester.login)}, {_time(state.created)}"),
        ("Issue", _link(f"{place}/issues/{state.issue}", f"#{state.issue}")),
        ("Request", _text(state.request)),
        ("Since", _time(state.since)),
        ("Cost", f"${state.spent:.2f}{_budget(state)}, {state.tokens:,} tokens"),
        ("Branch", f"<code>{_text(state.branch)}</code> for <code>{_text(state.base)}</code>"),
    ]
    if state.pull:
        kind = "draft " if state.pull.draft else ""
        link = _link(f"{place}/pull/{state.pull.number}", f"{kind}#{state.pull.number}")
        rows.append(("Pull request", link))
    for approval in state.approvals:
        who = f"{_text(approval.person.login)}, {_time(approval.moment)}"
        rows.append(("Approved", f"<code>{_text(approval.digest[:12])}</code> by {who}"))
    if state.committing:
        rows.append(("Being committed", f"wave {state.committing.number}"))
    if state.halt:
        rows.append(("Told to stop", f"{_text(state.halt.how)} by {_text(state.halt.login)}"))
    rows += [(name, _text(text)) for name, text in state.facts.items()]
    lines = "\n".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{cell}</td></tr>' for name, cell in rows
    )
    return f"<table>\n<caption>Where it stands</caption>\n{lines}\n</table>"


def _plan(state: RunState, offer: Offer, proposal: Proposal, repair: int) -> str:
    what = f"Repairs {repair}" if repair else "Plan"
    approved = "approved" if offer.digest == state.approved else "not approved"
    low, high = proposal.cost
    cost = f", ${low:.2f} to ${high:.2f} expected" if low is not None and high is not None else ""
    caption = f"{what}, revision {offer.rev}, <code>{_text(offer.digest[:12])}</code>, {approved}"
    rows = "\n".join(_waves(state, proposal, repair))
    remarks = "".join(f"<li>{_text(remark)}</li>" for remark in proposal.remarks)
    return (
        f"<table>\n<caption>{caption}{cost}</caption>\n"
        '<tr><th scope="col">Wave</th><th scope="col">Task</th><th scope="col">Goal</th>'
        '<th scope="col">Writes</th><th scope="col">State</th></tr>\n'
        f"{rows}\n</table>" + (f"\n<ul>{remarks}</ul>" if remarks else "")
    )


def _waves(state: RunState, proposal: Proposal, repair: int) -> Iterator[str]:
    tasks = {str(task.get("id", "")): task for task in proposal.plan.get("tasks", ())}
    landed = {task for wave in state.waves if wave.repair == repair for task in wave.tasks}
    for number, wave in enumerate(proposal.waves, start=1):
        for name in wave:
            task = tasks.get(name, {})
            writes = ", ".join(f"<code>{_text(node)}</code>" for node in task.get("writes", ()))
            called = proposal.names.get(name, name)
            done = "committed" if {name, called} & landed else "open"
            cells = (str(number), _text(name), _text(task.get("goal", "")), writes, done)
            yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _landed(state: RunState, place: str) -> str:
    rows = "\n".join(
        f"<tr><td>{wave.number}</td><td>{_commit(place, wave.commit)}</td>"
        f"<td>{_text(wave.subject)}</td><td>{_text(', '.join(wave.tasks))}</td></tr>"
        for wave in state.waves
    )
    return (
        "<table>\n<caption>On the branch</caption>\n"
        '<tr><th scope="col">Wave</th><th scope="col">Commit</th><th scope="col">Subject</th>'
        f'<th scope="col">Tasks</th></tr>\n{rows}\n</table>'
    )


def _commit(place: str, commit: str) -> str:
    shown = f"<code>{_text(commit[:12])}</code>"
    is_hash = len(commit) in (40, 64) and not set(commit) - set("0123456789abcdef")
    return _link(f"{place}/commit/{commit}", shown, html=True) if is_hash else shown


def _budget(state: RunState) -> str:
    return f" of ${state.wanted.budget:.2f}" if state.wanted.budget is not None else ""


def _link(address: str, text: str, *, html: bool = False) -> str:
    return f'<a href="{_text(address)}">{text if html else _text(text)}</a>'


def _time(moment: int) -> str:
    try:
        time = datetime.fromtimestamp(moment, UTC)
    except (OverflowError, ValueError, OSError):
        return "at some time"
    shown = time.strftime("%Y-%m-%d %H:%M UTC")
    return f'<time datetime="{time.isoformat()}">{shown}</time>'


def _text(value: object) -> str:
    return escape(str(value), quote=True)
