"""How long the app takes to its prompt, in a repository of 2,000 files.

``python benchmark/startup.py`` opens ``mak`` on a pseudo-terminal, again and again, and prints the
seconds until the prompt takes keys, and until the bar below it says what holds, beside those of
``python -c pass`` in turn. Beside the lowest figure stands the median.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from kernel import Material, git, verdict

ROOT = Path(__file__).parents[1]
COLUMNS, ROWS = 100, 40
#: What is on the screen when the prompt is there, and when the bar is whole.
GREETING, PROMPT, BAR = b"lists commands", b">", (b"agents", b"main, clean")
#: What a program asks to learn where the cursor is, and what terminals answer.
ASKED, ANSWER = b"\x1b[6n", b"\x1b[2;1R"
#: Seconds after which something is wrong, and those that are aimed at.
PATIENCE, AIM = 60.0, 0.4


def opened(root: Path, home: Path) -> tuple[float, float]:
    """Open the app and end it; return the seconds to its prompt, and to its whole bar."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "mak"],
        cwd=root,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
    )
    os.close(theirs)
    shown, prompt, whole = b"", 0.0, 0.0
    while not whole:
        left = began + PATIENCE - time.perf_counter()
        if left <= 0 or not select.select([ours], [], [], left)[0]:
            raise SystemExit(f"the app did not come up; it showed {shown!r}")
        shown += os.read(ours, 65_536)
        took = time.perf_counter() - began
        if shown.count(ASKED):
            os.write(ours, ANSWER * shown.count(ASKED))
            shown = shown.replace(ASKED, b"")
        if not prompt and PROMPT in shown.partition(GREETING)[2]:
            prompt = took
        if prompt and all(part in shown for part in BAR):
            whole = took
    process.kill()
    process.wait()
    os.close(ours)
    return prompt, whole


def unit() -> float:
    """Return the seconds of an interpreter that does nothing."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mak-benchmark-") as temporary:
        home, root = Path(temporary, "home"), Path(temporary, "repository")
        # Somebody who has used MAK before, in a project that has settings.
        (home / ".config" / "mak").mkdir(parents=True)
        Material(root, args.files)
        (root / ".mak").mkdir()
        (root / ".mak" / "config.yaml").write_text("max_agents: 4\n")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "settings")
        opened(root, home)
        units, prompts, bars = [], [], []
        for _ in range(args.repeat):
            units.append(unit())
            prompt, bar = opened(root, home)
            prompts.append(prompt)
            bars.append(bar)
    print(f"\n{args.files} files, {args.repeat} starts, seconds\n")
    print("| | lowest | median | x python |\n|---|---:|---:|---:|")
    for name, every in (("python -c pass", units), ("prompt", prompts), ("bar", bars)):
        times = min(every) / min(units)
        print(f"| {name} | {min(every):.3f} | {statistics.median(every):.3f} | {times:.1f} |")
    print()
    verdict("start to prompt, median", statistics.median(prompts), AIM, "s")


if __name__ == "__main__":
    main()
