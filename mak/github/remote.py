"""Git at GitHub: what is fetched and pushed there, with a token that nothing else sees.

Commands run in a bare repository of our own that borrows the checkout's objects. What a task, a
test or an earlier step wrote into the checkout's configuration or hooks counts for nothing, and
the token is in the environment of single git processes only: in no file, address or argument.

Invariant: a ref is only moved forward, and from the commit that was expected; never forced.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import urlsplit

from mak.errors import GitHubError, MakBug
from mak.github.redaction import redact
from mak.github.tokens import Tokens
from mak.store.git import Git

#: All that MAK ever writes to: of numbers and ids, never of text that somebody chose.
_OURS = re.compile(
    r"refs/heads/mak/\d+-r[0-9a-z]+"
    # Where a repository takes no refs but branches, the records are some.
    r"|refs/(?:mak|heads/mak/state)/(?:runs/r[0-9a-z]+|issues/\d+)"
)
#: How a server says that two write to one ref, and how often it is tried while the other does.
_RACED = ("cannot lock ref", "failed to update ref")
_ATTEMPTS = 5
_COMMIT = re.compile(r"[0-9a-f]{40}")
#: What passes: a server that fails or is not there for a moment, an answer that is lost.
_PASSING = re.compile(
    r"returned error: 5\d\d|RPC failed|early EOF|unexpected disconnect|Connection (?:reset|refused)"
    r"|Could not resolve host|Empty reply from server|timed out"
)
#: Seconds to wait before each further attempt.
_WAITS = (2.0, 4.0, 8.0)


class Push(StrEnum):
    """What became of a push."""

    DONE = "done"
    #: The ref is not where it was expected: somebody was first.
    MOVED = "moved"
    #: GitHub does not take it: a rule, a hook, a missing permission.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of a push, and in GitHub's words why."""

    how: Push
    said: str = ""


class Remote:
    """One repository at GitHub, and a bare one here."""

    def __init__(
        self,
        url: str,
        tokens: Tokens,
        folder: Path,
        checkout: Path | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Make a bare repository in a folder that is not there; borrow a checkout's objects.

        Raises `StoreError` when git cannot.
        """
        self.url, self._tokens, self._sleep = url, tokens, sleep
        folder.mkdir(parents=True)
        self._git = Git(folder, None)
        self._git.run("init", "--quiet", "--bare", "--template=")
        if checkout is not None:
            where = Git(checkout, checkout).run("rev-parse", "--git-path", "objects").decode()
            objects = (checkout / where.rstrip("\n")).resolve()
            borrowed = folder / "objects" / "info" / "alternates"
            borrowed.parent.mkdir(exist_ok=True)
            borrowed.write_text(f"{objects}\n")

    def refs(self, prefix: str) -> dict[str, str]:
        """Return the refs at GitHub that begin so, and what they point at."""
        lines = self._talk("ls-remote", "--refs", self.url, f"{prefix}*").decode().splitlines()
        pairs = (line.split("\t") for line in lines)
        return {name: commit for commit, name in pairs if name.startswith(prefix)}

    def fetch(self, *refs: str) -> None:
        """Bring refs here, under their own names; what was pushed over in the meantime counts."""
        self._talk("fetch", "--quiet", "--no-tags", self.url, *(f"+{ref}:{ref}" for ref in refs))

    def commit(
        self,
        files: Mapping[str, bytes],
        message: str,
        parent: str,
        moment: int,
        *,
        onto: str = "",
        gone: Iterable[str] = (),
    ) -> str:
        """Make a commit of these files and of those of `onto`; the same again is the same commit.

        Of the latter those that are `gone` are left out.

        `moment`, in seconds since 1970, is its date; `parent` is empty for the first one.
        """
        out = {*gone}
        blobs = (
            {path: blob for path, blob in self.blobs(onto).items() if path not in out}
            if onto
            else {}
        )
        for path, data in files.items():
            made = self._git.run("hash-object", "-w", "--stdin", input=data)
            blobs[path] = made.decode().strip()
        tree = self._tree(blobs)
        stamp = f"{moment} +0000"
        who = {"NAME": "MAK", "EMAIL": "mak@localhost", "DATE": stamp}
        env = {f"GIT_{role}_{key}": v for role in ("AUTHOR", "COMMITTER") for key, v in who.items()}
        after = ["-p", _commit(parent)] if parent else []
        args = ("commit-tree", "--no-gpg-sign", tree, *after)
        return self._git.run(*args, input=message.encode(), env=env).decode().strip()

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit that is here, or None when there is none."""
        done = self._git.attempt("cat-file", "blob", f"{_commit(commit)}:{path}")
        return done.stdout if done.returncode == 0 else None

    def blobs(self, commit: str) -> dict[str, str]:
        """Return the files of a commit that is here, and their blobs."""
        lines = self._git.run("ls-tree", "-r", "-z", _commit(commit)).decode().split("\0")
        rows = (line.partition("\t") for line in lines if line)
        return {path: row.split()[2] for row, _, path in rows}

    def take(self, checkout: Path, commit: str) -> None:
        """Bring a commit here from a checkout on this machine."""
        self._git.run("fetch", "--quiet", "--no-tags", str(checkout), _commit(commit))

    def check_out(self, folder: Path, branch: str, commit: str, who: tuple[str, str]) -> None:
        """Make a repository in a folder that is not there, with a commit checked out on a branch.

        `who` is the name and address that commits there bear. Nothing in it knows of GitHub.
        """
        folder.mkdir(parents=True)
        git = Git(folder / ".git", folder)
        git.run("init", "--quiet", "--template=", f"--initial-branch={branch}")
        ours = self._git.run("rev-parse", "--absolute-git-dir").decode().rstrip("\n")
        git.run("fetch", "--quiet", "--no-tags", ours, _commit(commit))
        for name, value in zip(("user.name", "user.email"), who, strict=True):
            git.run("config", name, value)
        git.run("reset", "--quiet", "--hard", commit)

    def follows(self, commit: str, ancestor: str) -> bool:
        """Whether a commit is, or comes after, another one; both are here."""
        args = ("merge-base", "--is-ancestor", _commit(ancestor), _commit(commit))
        return self._git.attempt(*args).returncode == 0

    def author(self, commit: str) -> tuple[str, str]:
        """Return the name and the message of a commit that is here."""
        text = self._git.run("show", "--no-patch", "--format=%an%x00%B", _commit(commit)).decode()
        name, _, message = text.partition("\0")
        return name, message

    def push(self, ref: str, commit: str, expected: str) -> Pushed:
        """Move a ref forward from where it is expected to be; the empty string: not there.

        Raises `GitHubError` when GitHub cannot be reached or does not take the token.
        """
        if not _OURS.fullmatch(ref):
            raise MakBug(f"pushing {ref}: no ref of MAK's")
        if expected and not self.follows(commit, expected):
            raise MakBug(f"pushing {ref}: {commit} does not follow {expected}")
        lease = f"--force-with-lease={ref}:{expected}"
        args = ("push", "--porcelain", "--no-verify", lease, self.url, f"{_commit(commit)}:{ref}")
        for _ in range(_ATTEMPTS):
            done = self._attempt(*args)
            if done.returncode == 0:
                return Pushed(Push.DONE)
            said = _said(done)
            if not any(sign in said for sign in _RACED):
                break
            # Somebody writes the same ref at this moment; that is no rule against it.
            if (now := self.refs(ref).get(ref, "")) != expected:
                return Pushed(Push.DONE if now == commit else Push.MOVED, said)
        else:
            raise _failed("push", said)
        if "[rejected]" in said and ("stale info" in said or "already exists" in said):
            now = self.refs(ref).get(ref, "")
            # An answer that was lost, and the same push again: it is where it should be.
            return Pushed(Push.DONE if now == commit else Push.MOVED, said)
        if "rejected]" in said:
            return Pushed(Push.REFUSED, said)
        if self.refs(ref).get(ref, "") == commit:
            return Pushed(Push.DONE)
        raise _failed("push", said)

    def _tree(self, blobs: Mapping[str, str]) -> str:
        folders: dict[str, dict[str, str]] = {}
        lines = []
        for path, blob in sorted(blobs.items()):
            folder, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(folder, {})[rest] = blob
                continue
            lines.append(f"100644 blob {blob}\t{path}")
        for folder, inner in folders.items():
            lines.append(f"040000 tree {self._tree(inner)}\t{folder}")
        text = "".join(f"{line}\0" for line in lines)
        return self._git.run("mktree", "-z", input=text.encode()).decode().strip()

    def _talk(self, *args: str) -> bytes:
        done = self._attempt(*args)
        if done.returncode:
            raise _failed(args[0], _said(done))
        return done.stdout

    def _attempt(self, *args: str) -> CompletedProcess[bytes]:
        """Run a command that talks to GitHub, again where its token is not taken or GitHub fails.

        Any of them may be done twice: a push names where its ref is expected.
        """
        done = self._once(*args)
        for wait in _WAITS:
            if not done.returncode or not _PASSING.search(done.stderr.decode("utf-8", "replace")):
                break
            self._sleep(wait)
            done = self._once(*args)
        return done

    def _once(self, *args: str) -> CompletedProcess[bytes]:
        token = self._tokens.current()
        done = self._git.attempt(*args, env=self._settings(token))
        if done.returncode and _is_unauthorized(done) and self._tokens.renew(token):
            done = self._git.attempt(*args, env=self._settings(self._tokens.current()))
        return done

    def _settings(self, token: str) -> dict[str, str]:
        scheme = urlsplit(self.url).scheme
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings = [
            (f"http.{self.url}.extraHeader", f"Authorization: Basic {basic}"),
            ("http.followRedirects", "false"),
            ("credential.helper", ""),
            ("core.askPass", ""),
            ("protocol.allow", "never"),
            (f"protocol.{scheme}.allow", "always"),
        ]
        named = dict(_numbered(settings))
        return {
            **named,
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "GIT_TRACE_REDACT": "1",
        }


def _numbered(settings: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for number, (name, value) in enumerate(settings):
        yield f"GIT_CONFIG_KEY_{number}", name
        yield f"GIT_CONFIG_VALUE_{number}", value


def _commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise MakBug(f"{text!r} is no commit")
    return text


def _said(done: CompletedProcess[bytes]) -> str:
    text = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
    return redact(" ".join(text.split()))[:1000]


def _is_unauthorized(done: CompletedProcess[bytes]) -> bool:
    said = done.stderr.decode("utf-8", "replace")
    return any(
        sign in said
        for sign in ("Authentication failed", "could not read Username", "returned error: 401")
    )


def _failed(command: str, said: str) -> GitHubError:
    hint = ""
    if "Authentication failed" in said or "could not read Username" in said:
        hint = "the token is not valid, or not any more"
    elif "403" in said:
        hint = "the token may not do this; it needs `contents: write` to push"
    return GitHubError(f"git {command}: {said}", hint=hint)
