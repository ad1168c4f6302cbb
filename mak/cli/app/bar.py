"""The line below the prompt: who works, where, under which conditions, and what it took.

It is true at every width: where room is short, what matters least is said shorter first, and
nothing is left out before all that can be is said shorter, so that 80 columns hold all of it.
Whether plans are reviewed is always said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mak.cli import terminal
from mak.cli.lines import bare, count, money, short, spec

if TYPE_CHECKING:
    from mak.cli.app.session import Session

_JOINT = " · "
#: Columns to which long names are cut, one after the other.
_NAMES = (24, 16, 10, 7)


@dataclass(frozen=True, slots=True)
class Form:
    """A way of saying one thing."""

    #: Empty: it is left out.
    text: str
    #: What is lost with it: where room is short, the form that costs least is taken next.
    cost: int = 0


#: What is said about one thing, the longest form first.
Part = tuple[Form, ...]


def parts(session: Session) -> list[Part]:
    """Return what the line says, in the order in which it stands there."""
    usage = session.spent
    number, about = short(usage.input + usage.output), usage.estimated
    long, brief = (
        f"{'about ' if about else ''}{number} tokens",
        f"{'~' if about else ''}{number} tok",
    )
    price = money(usage.cost)
    return [
        *_who(session),
        *_where(session),
        (Form("no review" if session.said.no_review else "review"),),
        (Form(long), Form(brief, 10), Form("", 74)),
        (Form(price), Form(price if usage.cost is not None else "$?", 15), Form("", 78)),
        *([(Form("settings: see /status"),)] if session.watch.problem else []),
    ]


def _who(session: Session) -> Iterator[Part]:
    chosen = session.watch.chosen
    if chosen is None:
        return
    more = f" +{len(chosen.models) - 1}" if len(chosen.models) > 1 else ""
    model = chosen.models[0]
    yield (
        Form(f"{spec(model)}{more}"),
        *_shorter(bare(model), "", more, (25, 30, 50, 60, 66)),
        Form("", 90),
    )
    planner = chosen.planner
    if chosen.planner == chosen.models[0]:
        yield Form("planner same"), Form("pl. same", 20), Form("", 71)
    else:
        names = _shorter(bare(planner), "planner ", "", (22, 28, 40, 58, 63))
        short_name = Form(f"pl. {_cut(bare(planner), _NAMES[-1])}", 64)
        yield Form(f"planner {spec(planner)}"), *names, short_name, Form("", 72)
    agents = count(chosen.max_agents, "agent")
    yield Form(agents), Form(f"{chosen.max_agents} ag.", 16), Form("", 70)


def _where(session: Session) -> Iterator[Part]:
    place = session.watch.place
    if place is None:
        return
    if not place.branch:
        yield (Form("no repository"),)
        return
    state = f"{place.changed} changed" if place.changed else "clean"
    names = _shorter(place.branch, "", f", {state}", (0, 35, 52, 62, 65))
    star = f"{_cut(place.branch, _NAMES[-1])}{'*' if place.changed else ''}"
    yield *names, Form(star, 68), Form("", 95)


def _shorter(name: str, before: str, after: str, costs: tuple[int, ...]) -> Iterator[Form]:
    """Yield forms with a name as it is, and with it cut ever shorter."""
    names = name, *(_cut(name, most) for most in _NAMES)
    for each, cost in zip(names, costs, strict=True):
        yield Form(f"{before}{each}{after}", cost)


def line(session: Session, room: int) -> str:
    """Return the line as it fits into so many columns."""
    said = parts(session)
    chosen = [0] * len(said)
    while _columns(text := _joined(said, chosen)) > room - 1:
        giving = [i for i, part in enumerate(said) if chosen[i] < len(part) - 1]
        if not giving:
            return _cut(text, room - 1)
        chosen[min(giving, key=lambda i: said[i][chosen[i] + 1].cost)] += 1
    return _filled(said, chosen, room)


def _filled(said: list[Part], chosen: list[int], room: int) -> str:
    """Return the line with all said longer again that the last step has made room for."""
    longer = True
    while longer:
        longer = False
        for i in sorted(range(len(said)), key=lambda i: -said[i][chosen[i]].cost):
            tried = [form - (at == i) for at, form in enumerate(chosen)]
            if chosen[i] and _columns(_joined(said, tried)) <= room - 1:
                chosen, longer = tried, True
    return _joined(said, chosen)


def _joined(said: list[Part], chosen: list[int]) -> str:
    texts = (part[form].text for part, form in zip(said, chosen, strict=True))
    return f" {terminal.clean(_JOINT.join(text for text in texts if text))}"


def _cut(text: str, room: int) -> str:
    """Cut a text to so many columns, with a sign that something is missing."""
    if _columns(text) <= room:
        return text
    sign = terminal.clean("…")
    while text and _columns(text) > room - len(sign):
        text = text[:-1]
    return f"{text}{sign}"


def _columns(text: str) -> int:
    from prompt_toolkit.utils import get_cwidth

    return get_cwidth(text)
