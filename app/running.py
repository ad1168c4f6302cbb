"""A wake is worked off here: the issue's run is planned and carried out by this service.

The kernel works in a process of its own that has the models' keys and nothing of the App. Tokens
are of one repository: Git's may write its contents, the other grows with what a run publishes.
"""

from __future__ import annotations

import logging
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.settings import Settings
from app.worker import GivenBack
from mak.config import POLICY_FILE, Policy, dump_yaml, parse_document
from mak.errors import GitHubError, UsageError
from mak.github.api import Api, AppApi, account
from mak.github.engine import reconcile
from mak.github.events import Wake
from mak.github.hearing import decline, hear_press
from mak.github.ledger import Held, Ledger, Lost
from mak.github.messages import Links, inert
from mak.github.places import issue_of
from mak.github.policy import read_policy
from mak.github.reading import Reader
from mak.github.reduce import closed
from mak.github.remote import Remote
from mak.github.showing import show
from mak.github.site import POLL, Site, Stopped, Wishes
from mak.github.state import ACTIVE
from mak.github.tokens import PLANNING, PUBLISHING, RECORDING, InstallationToken
from mak.github.transport import PACE, Transport

_LOG = logging.getLogger("app.running")
_CONFIG = ".mak/config.yaml"
#: Whose texts are the Action's.
_ACTIONS = "github-actions[bot]"
#: With these the App may do nothing there any more.
_ENDED = frozenset({"installation.deleted", "installation.suspend"})
_TAKEN = "installation_repositories.removed"
#: After these nothing can be read or said at an issue.
_NOT_THERE = frozenset({"issues.deleted", "issues.transferred"})
_FOREIGN = (
    "this is no pull request of mine: I work on issues, and on the pull requests that come of "
    "them. Please say it at an issue."
)


class Running:
    """Works off wakes."""

    def __init__(
        self,
        settings: Settings,
        app: AppApi,
        stopping: threading.Event,
        *,
        pace: float = PACE,
        poll: float = POLL,
        now: Callable[[], float] = time.time,
        fault: Callable[[str], None] = lambda name: None,
    ) -> None:
        """Take whose App it is, and what is set when the service stops; `fault` is for tests."""
        self._settings, self._app, self._stopping = settings, app, stopping
        self._pace, self._poll, self._now, self._fault = pace, poll, now, fault
        self._lock = threading.Lock()
        #: Installations and repositories that the App was taken away from, while work ends there.
        self._gone: set[tuple[int, int]] = set()
        self._slug = ""
        self._bots: dict[str, int] = {}

    def __call__(self, wake: Wake) -> None:
        """Work one off; raises `GitHubError` when GitHub refuses, `GivenBack` at the end."""
        place = (wake.installation, wake.repository)
        ended = wake.kind in _ENDED or wake.kind == _TAKEN
        with self._lock:
            self._gone.discard(place)
            if ended:
                self._gone.add(place)
        try:
            with self._site(wake) as (site, problem):
                if ended:
                    _cancel(site, "the App was taken away")
                else:
                    self._work(site, wake, problem)
        except _Away as away:
            _LOG.info("nothing is done: %s", away, extra={"repository": wake.repository})
        except Stopped as stopped:
            if self._stopping.is_set():
                raise GivenBack from stopped
            _LOG.info("left: %s", stopped, extra={"repository": wake.repository})

    def _work(self, site: Site, wake: Wake, problem: str) -> None:
        number: int | None = wake.number
        if problem:
            if number:
                says = f"`{POLICY_FILE}` of the default branch cannot be used, so nothing is done: "
                decline(site, number, says + inert(problem))
            return
        if wake.press:
            if str(wake.press.app) != self._settings.app_id:
                return
            number = hear_press(site, wake.press, wake.delivery)
        elif wake.kind in _NOT_THERE:
            _end(site, site.ledger.of_issue(wake.number), "the issue is not here any more")
            return
        elif number:
            number = issue_of(site, number)
            if number is None:
                decline(site, wake.number, _FOREIGN)
        if number:
            state = reconcile(site, number)
            if state:
                about = {"repository": wake.repository, "run": state.run}
                _LOG.info("run is %s", state.phase, extra=about)

    # ------------------------------------------------------------------------------ the repository

    @contextmanager
    def _site(self, wake: Wake) -> Iterator[tuple[Site, str]]:
        """Have all that is needed to work on a repository, and what is wrong with its policy."""
        settings, kernel = self._settings, self._settings.kernel
        place = (wake.installation, wake.repository)
        tokens = _Tokens(place, self._app)
        name = tokens.name() or wake.full_name
        if not settings.serves(name):
            raise _Away(f"{name} is not served")
        with (
            tempfile.TemporaryDirectory(
                prefix="mak-run-", dir=kernel.folder or None, ignore_cleanup_errors=True
            ) as folder,
            Transport(tokens, settings.github_url, pace=self._pace) as transport,
        ):
            reader = Reader(transport, name)
            try:
                found = reader.repository()
                # A name may be another repository's by now.
                if found["id"] != wake.repository:
                    raise _Away(f"{name} is another repository")
                api = Api(transport, name)
                base = str(found["default_branch"])
                git = InstallationToken(*place, RECORDING, self._app.mint)
                remote = Remote(f"{settings.web}/{name}.git", git, Path(folder) / "remote")
                policy, problem = _policy(api, base)
                site = Site(
                    api,
                    reader,
                    remote,
                    Ledger(remote),
                    mine=self._mine(transport),
                    who=self._who(transport),
                    folder=Path(folder) / "work",
                    environment=kernel.environment,
                    policy=policy,
                    links=self._links(name),
                    wishes=Wishes(
                        kernel.models,
                        kernel.planner,
                        kernel.agents,
                        kernel.budget,
                        config=_config(api, base, commands=kernel.commands),
                        endpoints=False,
                    ),
                    alias=settings.alias or f"@{self.slug()}",
                    # Of this wake alone: two of one run may be worked off side by side.
                    owner=f"app:{socket.gethostname()[:32]}:{secrets.token_hex(6)}",
                    poll=self._poll,
                    now=self._now,
                    note=lambda line: _LOG.info("%s", line, extra={"repository": wake.repository}),
                    stopped=lambda: self._why_to_stop(place),
                    publishing=tokens.publish,
                    fault=self._fault,
                )
                yield site, problem
            finally:
                reader.close()

    def _why_to_stop(self, place: tuple[int, int]) -> str:
        if self._stopping.is_set():
            return "the service stops"
        with self._lock:
            return "the App was taken away" if place in self._gone else ""

    def slug(self) -> str:
        """Return the name of the App in addresses and mentions; raises `GitHubError`."""
        if not self._slug:
            self._slug = str(self._app.app()["slug"])
        return self._slug

    def _mine(self, transport: Transport) -> frozenset[int]:
        return frozenset(self._bot(transport, name) for name in (f"{self.slug()}[bot]", _ACTIONS))

    def _who(self, transport: Transport) -> tuple[str, str]:
        login = f"{self.slug()}[bot]"
        return login, f"{self._bot(transport, login)}+{login}@users.noreply.github.com"

    def _bot(self, transport: Transport, login: str) -> int:
        if login not in self._bots:
            try:
                self._bots[login] = int(account(transport, login)["id"])
            except GitHubError as error:
                # A server of one's own may have no Actions.
                if error.status != 404 or login != _ACTIONS:
                    raise
                self._bots[login] = 0
        return self._bots[login]

    def _links(self, name: str) -> Links:
        settings = self._settings
        page = ""
        if settings.url and settings.pages_token:
            page = f"{settings.url}/runs/{name}/{{run}}"
        return Links(f"{settings.web}/{name}", settings.web, page=page)


class _Away(Exception):
    """The App has no business in a repository, or none any more."""


class _Tokens:
    """Tokens of one repository: for planning until something is published."""

    def __init__(self, place: tuple[int, int], app: AppApi) -> None:
        self._app = app
        self._full_name = ""
        self._planning = InstallationToken(*place, PLANNING, self._mint)
        self._publishing = InstallationToken(*place, PUBLISHING, self._mint)
        self._now = self._planning

    def _mint(self, installation: int, narrowing: Mapping[str, Any]) -> Mapping[str, Any]:
        minted = self._app.mint(installation, narrowing)
        found = [each["full_name"] for each in minted.get("repositories") or ()]
        self._full_name = found[0] if len(found) == 1 else ""
        return minted

    def name(self) -> str:
        """Return what the repository is called now; raises `_Away` where there is no token."""
        try:
            self.current()
        except GitHubError as error:
            if error.status in (404, 422) or (error.status == 403 and "suspended" in str(error)):
                raise _Away(str(error)) from error
            raise
        return self._full_name

    def publish(self) -> None:
        self._now = self._publishing

    def current(self) -> str:
        return self._now.current()

    def renew(self, refused: str) -> bool:
        return self._now.renew(refused)


def _policy(api: Api, branch: str) -> tuple[Policy, str]:
    """Return what the default branch says people may have done, and what is wrong with that."""
    data = api.content(POLICY_FILE, branch)
    try:
        return read_policy(data.decode("utf-8", "replace") if data else ""), ""
    except UsageError as error:
        return Policy(), str(error)


def _config(api: Api, branch: str, *, commands: bool) -> str:
    """Return how the default branch configures MAK, without what would run on this machine."""
    data = api.content(_CONFIG, branch)
    text = data.decode("utf-8", "replace") if data else ""
    if commands or not text.strip():
        return text
    try:
        found = parse_document(text, _CONFIG)
    except UsageError:
        # The kernel says what is wrong with it, and does nothing.
        return text
    if not isinstance(found, dict):
        return text
    for section, key in (("checks", "commands"), ("files", "generated")):
        if isinstance(found.get(section), dict):
            found[section].pop(key, None)
    return dump_yaml(found)


def _cancel(site: Site, why: str) -> None:
    """Cancel what is under way in a repository."""
    for held in site.ledger.runs():
        if ended := _end(site, held, why):
            try:
                show(site, ended)
            except Lost:
                site.note(f"run {held.state.run}: somebody else shows it")


def _end(site: Site, held: Held | None, why: str) -> Held | None:
    """End a run that is under way, without a word; return it."""
    while held and held.state.phase in ACTIVE:
        try:
            return site.ledger.write(held, closed(held.state, why, site.moment))
        except Lost:
            held = site.ledger.of_run(held.state.run)
    return None
