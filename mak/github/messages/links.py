"""Addresses of what MAK speaks of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from mak.github.redaction import redact


@dataclass(frozen=True, slots=True)
class Links:
    """Where a repository and a run are to be seen; what there is none of is empty."""

    #: The page of the repository, such as `https://github.com/owner/name`.
    repository: str = ""
    #: `https://github.com`, or a server of one's own.
    server: str = ""
    #: The log of the job that works on the run.
    job: str = ""
    #: The page of the run; `{run}` in it stands for the run's id.
    page: str = ""

    def of(self, run: str) -> Links:
        """Return the links of one run."""
        return replace(self, page=self.page.replace("{run}", run))

    def issue(self, number: int) -> str:
        """Return the address of an issue."""
        return self._of(f"issues/{number}")

    def pull(self, number: int) -> str:
        """Return the address of a pull request."""
        return self._of(f"pull/{number}")

    def comment(self, issue: int, comment: int) -> str:
        """Return the address of a comment on an issue or a pull request."""
        return self._of(f"issues/{issue}#issuecomment-{comment}") if comment else ""

    def review(self, pull: int, review: int) -> str:
        """Return the address of a review."""
        return self._of(f"pull/{pull}#pullrequestreview-{review}") if review else ""

    def commit(self, commit: str) -> str:
        """Return the address of a commit."""
        return self._of(f"commit/{commit}")

    def compare(self, base: str, head: str) -> str:
        """Return the address of the page that opens a pull request of one branch for another."""
        return self._of(f"compare/{quote(base)}...{quote(head)}?expand=1")

    def _of(self, place: str) -> str:
        return f"{self.repository}/{place}" if self.repository else ""


def link(text: str, url: str) -> str:
    """Return words of ours with an address, or alone where there is none."""
    if not url.startswith(("https://", "http://")):
        return text
    return f"[{text}]({quote(redact(url), safe=':/?#@!$&*+,;=%~.-_')})"
