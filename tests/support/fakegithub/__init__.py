"""A GitHub for tests, which GitHub's own descriptions of its interfaces judge."""

from tests.support.fakegithub.server import FakeGitHub

__all__ = ["FakeGitHub"]
