"""What a repository lets people on GitHub have done: `.github/mak.yml` of its default branch."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator

from mak.config.sections import Section, Specs, SpecText, Texts

POLICY_FILE = ".github/mak.yml"
#: As many as a person would type; a range of ids says what it stands for.
MOST_AGENTS, MOST_WAVES, MOST_TASKS = 32, 200, 400
#: Files that decide what runs, or who decides: always in `protected`, before what a policy adds.
PROTECTED = (
    ".github/**",
    "CODEOWNERS",
    "action.yml",
    "action.yaml",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    ".buildkite/",
    ".ci/",
    ".circleci/",
    ".gitlab/",
    ".gitlab-ci.yml",
    ".drone.yml",
    ".travis.yml",
    "Jenkinsfile",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".mak/",
    ".makignore",
    ".gitattributes",
    ".gitmodules",
    "*.lock",
    "*.lockb",
    "*-lock.json",
    "*-lock.yaml",
    "*-lock.yml",
    "packages.lock.json",
    "npm-shrinkwrap.json",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "pylock.toml",
    "pylock.*.toml",
    ".terraform.lock.hcl",
    "Package.resolved",
)

AppId = Annotated[int, Field(ge=1)]


class Approver(StrEnum):
    """What somebody must be allowed to do in the repository to approve a plan."""

    WRITE = "write"
    MAINTAIN = "maintain"


class OnOverlap(StrEnum):
    """What happens to a plan that writes what an open run is to write too."""

    #: It is said, beside the plan.
    WARN = "warn"
    #: It runs when the other has ended.
    WAIT = "wait"
    #: It cannot be approved.
    REFUSE = "refuse"


class Policy(Section):
    """What a repository lets people on GitHub have done."""

    approvals: int = Field(default=1, ge=1, le=10)
    """People who have to approve a plan before it runs."""
    approver: Approver = Field(default=Approver.WRITE, strict=False)
    """Who may approve: whoever may `write`, or only those who `maintain` the repository."""
    require_other_approver: bool = False
    """Whether whoever asked for a run may not approve its plans."""
    allow_unreviewed: bool = False
    """Whether `--yes` of somebody who maintains the repository goes without a review."""
    on_overlap: OnOverlap = Field(default=OnOverlap.WARN, strict=False)
    """A plan writes what an open run is to write too: `warn`, `wait` for it, or `refuse`."""
    protected: Texts = PROTECTED
    """Files that take `--allow-protected` of somebody who maintains the repository, as lines of \
.gitignore, in any case; they come after those listed here, and `!LINE` takes one out."""
    budget_usd: float | None = Field(default=None, gt=0)
    """US dollars that one run may spend; unset: as the configuration says."""
    daily_usd_per_user: float | None = Field(default=None, gt=0)
    """US dollars that the runs of one person may spend in 24 hours; unset: no limit."""
    runs_per_repository: int = Field(default=4, ge=1, le=100)
    """Runs that are carried out at once; others wait."""
    max_agents: int = Field(default=4, ge=1, le=MOST_AGENTS)
    """Agents of one run that work at once."""
    max_waves: int = Field(default=20, ge=1, le=MOST_WAVES)
    """Waves that one plan may have; `--max-waves` asks for fewer."""
    max_tasks: int = Field(default=50, ge=1, le=MOST_TASKS)
    """Tasks that one plan may have."""
    models: Specs | None = None
    """Model specs of the agents; unset: as the configuration says."""
    planner: SpecText | None = None
    """Model spec of the planner; unset: as the configuration says."""
    apps: Annotated[tuple[AppId, ...], Field(strict=False)] = ()
    """Numbers of the GitHub Apps whose comments are heard, as of somebody who may write; those of \
all other Apps and bots are ignored."""

    @field_validator("protected")
    @classmethod
    def _with_ours(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        """Put what is always protected before what is added: the last line that matches decides."""
        return lines if lines[: len(PROTECTED)] == PROTECTED else (*PROTECTED, *lines)


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Policy.model_json_schema(),
        "title": "MAK on GitHub: the policy of a repository",
    }
