"""Every project of the suite, by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmark.suite.projects import callers, config, jobs, storefront, toolkit
from benchmark.suite.specification import Project

PROJECTS: dict[str, Callable[[], Project]] = {
    "toolkit": toolkit.make,
    "storefront": storefront.make,
    "jobs": jobs.make,
    "callers": callers.make,
    "config": config.make,
}
