"""The REST endpoints that MAK uses, all of them: importing this registers them."""

from tests.support.fakegithub import apps, checks, issues, pulls, repositories
from tests.support.fakegithub.calls import ROUTES, answer

__all__ = ["ROUTES", "answer", "apps", "checks", "issues", "pulls", "repositories"]
