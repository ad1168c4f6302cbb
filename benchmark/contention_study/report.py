"""Tables and datasheet, from the documents of the study alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Document = dict[str, Any]
GRAINS = ("file", "node", "append", "signature")
#: Hot nodes listed of each repository.
_HOTTEST = 5


def tables(documents: Sequence[Document]) -> str:
    """Return every table as Markdown."""
    return (
        "\n".join(
            [
                *_meetings(documents),
                *_replays(documents),
                *_merges(documents),
                *_nodes(documents),
                *_mapper(documents),
            ]
        )
        + "\n"
    )


def _meetings(documents: Sequence[Document]) -> Iterator[str]:
    yield "## Pairs that were under way at once"
    yield ""
    yield "Different authors; the share that meets, in percent, with its 95 % interval (Wilson)."
    yield "*append*: in a node, where not both only add. *shared*: nodes that both change, and the"
    yield "share in which both only add."
    yield ""
    yield (
        "| repository | files | changes | pairs | file | node | append | signature | shared "
        "| only add |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for document in documents:
        for scope in ("all", "python"):
            row = document["in_flight"][scope]
            rates = [rate(row[grain]["rate"]) for grain in GRAINS]
            share = row["append_only"] / row["shared_nodes"] if row["shared_nodes"] else 0.0
            adds = rate((share, *row["append_interval"])) if row["shared_nodes"] else ""
            yield (
                f"| {document['repository']} | {scope} | {document['history']['changes']} "
                f"| {row['pairs']} | {' | '.join(rates)} | {row['shared_nodes']} | {adds} |"
            )
    yield ""


def _replays(documents: Sequence[Document]) -> Iterator[str]:
    yield "## Waves of k changes that followed each other"
    yield ""
    yield "Speed-up over one agent if every change took as long and those that meet took turns, and"
    yield "(in percent) how many changes meet an earlier one of their wave. *worth*: agents up to"
    yield "which each further one adds at least half of what the first does."
    yield ""
    waves = documents[0]["replay"]["all"]["file"]["waves"] if documents else []
    counts = [wave["agents"] for wave in waves]
    heads = " | ".join(f"k = {count}" for count in counts)
    yield f"| repository | grain | {heads} | worth |"
    yield f"|---|---|{'---:|' * (len(counts) + 1)}"
    for document in documents:
        for grain in GRAINS:
            row = document["replay"]["all"][grain]
            cells = {
                wave["agents"]: f"{wave['speedup']:.1f} ({100 * wave['waited']:.0f})"
                for wave in row["waves"]
            }
            shown = " | ".join(cells.get(count, "") for count in counts)
            yield f"| {document['repository']} | {grain} | {shown} | {row['worth']} |"
    yield ""


def _merges(documents: Sequence[Document]) -> Iterator[str]:
    yield "## Merging pairs that share a file"
    yield ""
    yield "Drawn from the pairs above, both put on the commit on which the earlier one landed."
    yield "*probe*: clean merges with a finding of MAK's checks that neither side has by itself."
    yield "*fitted*: the later one was written for the earlier one, so that both conflict; *agree*:"
    yield "with `git merge` in a working tree."
    yield ""
    yield (
        "| repository | pairs | versus mainline | infrastructure | fitted | merged | clean by Git "
        "| clean by MAK | only Git | in one-node files | only MAK | probe | agree |"
    )
    yield f"|---|{'---:|' * 12}"
    for document in documents:
        row = document["verdicts"]
        buckets = {name: each["pairs"] for name, each in row["buckets"].items()}
        probe, real = document["probe"], document["git_merge"]
        yield (
            f"| {document['repository']} | {row['pairs']} | {buckets['change-versus-mainline']} "
            f"| {buckets['infrastructure']} | {row['fitted']} | {row['merged']} "
            f"| {row['git_clean']} | {row['mak_clean']} | {row['only_git']} "
            f"| {row.get('only_git_whole', 'not counted')} | {row['only_mak']} "
            f"| {probe['broken']} of {probe['merges']} | {real['agree']} of {real['pairs']} |"
        )
    yield ""


def _nodes(documents: Sequence[Document]) -> Iterator[str]:
    yield "## How unevenly nodes are touched"
    yield ""
    yield "| repository | files | nodes | touches | only add | Gini | tail, nodes | tail, files |"
    yield f"|---|---|{'---:|' * 6}"
    for document in documents:
        for scope in ("all", "python"):
            row = document["nodes"][scope]
            share = 100 * row["adds"] / row["touches"] if row["touches"] else 0.0
            tails = [
                "" if value is None else f"{value:.2f}"
                for value in (row["tail_exponent"], row["tail_exponent_files"])
            ]
            yield (
                f"| {document['repository']} | {scope} | {row['touched']} | {row['touches']} "
                f"| {share:.1f} % | {row['gini']:.2f} | {' | '.join(tails)} |"
            )
    yield ""
    yield "| repository | hottest nodes | changes | only add |"
    yield "|---|---|---:|---:|"
    for document in documents:
        for hot in document["nodes"]["all"]["hottest"][:_HOTTEST]:
            yield (
                f"| {document['repository']} | `{hot['node']}` | {hot['changes']} | {hot['adds']} |"
            )
    yield ""


def _mapper(documents: Sequence[Document]) -> Iterator[str]:
    yield "## The mapper beside a walk of the syntax tree"
    yield ""
    yield "*confirmed*: of the functions it names; the rest differ in comments or form only."
    yield ""
    yield "| repository | files | changed lines | in a node | definitions | recalled | confirmed |"
    yield f"|---|{'---:|' * 6}"
    for document in documents:
        row = document["mapper"]
        yield (
            f"| {document['repository']} | {row['files']} | {row['lines']} "
            f"| {100 * row['coverage']:.2f} % | {row['definitions']} | {100 * row['recall']:.2f} % "
            f"| {row['confirmed']} of {row['named']} |"
        )


def rate(values: Sequence[float]) -> str:
    """Return a share and its interval in percent."""
    share, low, high = (100 * value for value in values)
    return f"{share:.2f} ({low:.2f} to {high:.2f})"


def datasheet(documents: Sequence[Document]) -> str:
    """Return what the data is: where it comes from, how it was drawn, what is not in it."""
    out = [
        "# Datasheet",
        "",
        "What `python -m benchmark.contention_study` counted, by repository. No code of any",
        "repository is kept here: only counts, names of nodes and ids of commits.",
        "",
        "- **Unit**: a change that landed, one commit of the default branch's first-parent line.",
        "- **Left out**: commits that touch no file; the root commit.",
        "- **Beginning**: of merge commits, and of squashed pull requests whose head is there as a",
        "  ref, where the branch's oldest own commit left the line; of others not known.",
        "- **Author**: of the branch's oldest own commit, else of the landed commit.",
        "- **Sampling**: the last changes of the branch; pairs, probes and validated changes by",
        "  the seed.",
        "- **Personal data**: authors are compared by address while it runs; no name and no",
        "  address is kept.",
        "",
        "| repository | tip | oldest | changes | empty | authors | merge | squash | other "
        "| beginning known | files, median | landed meanwhile, median | seconds |",
        f"|---|---|---|{'---:|' * 10}",
    ]
    for document in documents:
        about = document["history"]
        forms = [about["forms"].get(name, 0) for name in ("merge", "squash", "commit")]
        out.append(
            f"| {document['repository']} | `{document['tip'][:10]}` | `{about['oldest'][:10]}` "
            f"| {about['changes']} | {about['empty']} | {about['authors']} "
            f"| {' | '.join(map(str, forms))} | {about['begin_known']} | {about['files_median']} "
            f"| {about['landed_meanwhile_median']} | {document['seconds']:.0f} |"
        )
    sizes = documents[0]["sizes"] if documents else {}
    out += ["", "Sizes: " + ", ".join(f"{name} {value}" for name, value in sizes.items()) + "."]
    return "\n".join(out) + "\n"
