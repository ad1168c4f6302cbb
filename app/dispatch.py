"""A wake is worked off by the repository's own workflow: the App only starts it.

The work then runs on GitHub's machines, with the keys of the repository; the App needs no model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

from mak.errors import GitHubError
from mak.github.api import Api, AppApi
from mak.github.events import Wake
from mak.github.reading import Reader
from mak.github.tokens import InstallationToken
from mak.github.transport import Transport

#: `metadata: read`, which tells the default branch, every token has.
STARTING: Mapping[str, str] = {"actions": "write"}
_MOST_TOKENS = 1000


class Dispatch:
    """Starts a workflow."""

    def __init__(self, app: AppApi, workflow: str, url: str) -> None:
        """Take who mints tokens, and the workflow's file name."""
        self._app, self._workflow, self._url = app, workflow, url
        self._lock = threading.Lock()
        self._tokens: OrderedDict[tuple[int, int], InstallationToken] = OrderedDict()

    def __call__(self, wake: Wake) -> None:
        """Start the workflow on the default branch; raises `GitHubError` when GitHub refuses."""
        with Transport(self._tokens_of(wake), self._url) as transport:
            reader = Reader(transport, wake.full_name)
            try:
                found = reader.repository()
            finally:
                reader.close()
            # The token is of the repository by its number; the name may be another's by now.
            if found["id"] != wake.repository:
                raise GitHubError(f"starting the workflow: {wake.full_name} is another repository")
            inputs = {"number": str(wake.number), "kind": wake.kind, "delivery": wake.delivery}
            api = Api(transport, wake.full_name)
            api.dispatch_workflow(self._workflow, found["default_branch"], inputs)

    def _tokens_of(self, wake: Wake) -> InstallationToken:
        """Return the tokens of a repository, which are good for many wakes."""
        key = (wake.installation, wake.repository)
        with self._lock:
            found = self._tokens.pop(key, None)
            self._tokens[key] = found or InstallationToken(*key, STARTING, self._app.mint)
            if len(self._tokens) > _MOST_TOKENS:
                self._tokens.popitem(last=False)
            return self._tokens[key]
