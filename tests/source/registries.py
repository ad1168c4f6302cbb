"""Random files with tables and registries as people write them, and edits that only add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

NAME = "shop/registry.py"
WORDS = [f"{a}_{b}" for a in ("cart", "user", "mail", "tax", "log") for b in ("add", "get", "run")]
#: What the tasks add; none of it is in any file before.
NEW = [f"{a}_{b}" for a in ("zone", "bill", "node", "ship", "auth", "menu") for b in ("x", "y")]


@dataclass(frozen=True)
class Style:
    """How a person writes entries."""

    quote: str
    #: One entry a line, all in one, or several a line.
    layout: str
    trailing: bool
    comments: bool
    is_sorted: bool
    newline: str

    def text(self, word: str) -> str:
        return f"{self.quote}{word}{self.quote}"


styles = st.builds(
    Style,
    st.sampled_from(["'", '"']),
    st.sampled_from(["lines", "one", "packed"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["\n", "\n", "\r\n"]),
)


def display(opening: str, entries: Sequence[str], closing: str, style: Style) -> str:
    """Write entries between brackets."""
    if style.layout == "one" or not entries:
        return f"{opening}{', '.join(entries)}{closing}"
    if style.layout == "packed":
        rows = [", ".join(entries[i : i + 3]) for i in range(0, len(entries), 3)]
        end = "," if style.trailing else ""
        return f"{opening}\n    " + ",\n    ".join(rows) + f"{end}\n{closing}"
    lines = []
    for number, entry in enumerate(entries):
        comma = "," if style.trailing or number + 1 < len(entries) else ""
        remark = f"  # {entry}" if style.comments and "_x" not in entry else ""
        lines.append(f"    {entry}{comma}{remark}\n")
    return f"{opening}\n{''.join(lines)}{closing}"


Builder = Callable[[Sequence[str], Style], str]


def listed(words: Sequence[str], style: Style) -> str:
    return f"NAMES = {display('[', [style.text(w) for w in words], ']', style)}\n"


def exported(words: Sequence[str], style: Style) -> str:
    return f"__all__ = {display('[', [style.text(w) for w in words], ']', style)}\n"


def mapped(words: Sequence[str], style: Style) -> str:
    return f"TABLE = {display('{', [f'{style.text(w)}: f_{w}' for w in words], '}', style)}\n"


def in_set(words: Sequence[str], style: Style) -> str:
    return f"KNOWN = {display('{', [style.text(w) for w in words], '}', style)}\n" if words else ""


def routed(words: Sequence[str], style: Style) -> str:
    entries = [f"Route({style.text(w)}, view={w})" for w in words]
    return f"ROUTES = {display('(', entries, ')', style)}\n" if len(words) > 1 else ""


def called(words: Sequence[str], style: Style) -> str:
    return "".join(f"register({style.text(w)}, f_{w})\n" for w in words)


def long_called(words: Sequence[str], style: Style) -> str:
    return "".join(f"add(\n    {style.text(w)},\n    f_{w},\n)\n" for w in words)


def indexed(words: Sequence[str], style: Style) -> str:
    return "INDEX = {}\n" + "".join(f"INDEX[{style.text(w)}] = f_{w}\n" for w in words)


def in_function(words: Sequence[str], style: Style) -> str:
    calls = "".join(f"    app.include({w})\n" for w in words)
    return f"\n\ndef setup(app):\n{calls}    return app\n"


BUILDERS: list[Builder] = [
    listed,
    exported,
    mapped,
    in_set,
    routed,
    called,
    long_called,
    indexed,
    in_function,
]


@dataclass(frozen=True)
class Work:
    """A file and what each of some tasks adds to it."""

    builder: Builder
    style: Style
    words: tuple[str, ...]
    added: tuple[tuple[str, ...], ...]

    def file(self, *sides: int) -> bytes:
        """Return the file with what some of the tasks add, as one of them would write it."""
        words = [*self.words, *(word for side in sides for word in self.added[side])]
        if self.style.is_sorted:
            words.sort()
        before = "import os\n\n# Not to be touched.\nLIMIT = os.cpu_count()  # as it is\n\n\n"
        after = "\n\ndef untouched():\n    return  {  }\n"
        text = f"{before}{self.builder(words, self.style)}{after}"
        return text.replace("\n", self.style.newline).encode()


@st.composite
def works(draw: st.DrawFn, sides: int) -> Work:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=3, max_size=8, unique=True))
    style = draw(styles)
    new = draw(st.permutations(NEW))
    sizes = [draw(st.integers(1, 2)) for _ in range(sides)]
    added = []
    for size in sizes:
        added.append(tuple(new[:size]))
        new = new[size:]
    words.sort(reverse=not style.is_sorted)
    if not style.is_sorted:
        words[0], words[1] = words[1], words[0]
    return Work(draw(st.sampled_from(BUILDERS)), style, tuple(words), tuple(added))
