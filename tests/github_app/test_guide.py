"""What the guide says of the App is what the App does."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import re
from pathlib import Path

from app.settings import Settings
from mak.github.events import WEBHOOKS
from mak.github.tokens import PLANNING, PUBLISHING
from tests.support.fakegithub import contract

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/github-app.md").read_text()
DOCKERFILE = (ROOT / "app/Dockerfile").read_text()


def manifest() -> dict[str, object]:
    (form,) = re.findall(r"^```html\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    texts: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_data(self, data: str) -> None:
            texts.append(data)

    Reader().feed(form)
    return json.loads(next(text for text in texts if text.strip().startswith("{")))


def test_the_manifest_asks_for_what_is_used_and_no_more() -> None:
    permissions = {"actions": "write", "metadata": "read", **PLANNING, **PUBLISHING}
    assert manifest()["default_permissions"] == permissions
    assert "workflows" not in permissions
    # These three come to every App, unasked.
    unasked = {"installation", "installation_repositories", "ping"}
    assert {*manifest()["default_events"]} == {*WEBHOOKS} - unasked


def test_permissions_and_events_are_githubs() -> None:
    known = contract.rest().document["components"]["schemas"]["app-permissions"]["properties"]
    for name, level in manifest()["default_permissions"].items():
        assert level in known[name]["enum"]


def test_every_setting_is_in_the_guide_and_none_besides() -> None:
    source = (ROOT / "app/settings.py").read_text()
    read = {
        f"MAK_APP_{name}"
        for name in re.findall(r"given\.(?:text|secret|number|read)\(\s*\"([A-Z_]+)\"", source)
    }
    assert len(read) > len(dataclasses.fields(Settings))
    named = {*re.findall(r"MAK_APP_[A-Z_]+[A-Z]", GUIDE)}
    files = {name for name in named if name.endswith("_FILE")}
    assert {name.removesuffix("_FILE") for name in files} <= read
    assert named - files == read


def test_the_image_has_what_the_service_needs() -> None:
    assert "--require-hashes --requirement app/requirements.txt" in DOCKERFILE
    for folder in ("mak", "app"):
        assert f"COPY {folder} {folder}\n" in DOCKERFILE
    assert "USER mak\n" in DOCKERFILE
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "app/requirements.txt").read_text(), re.M)
    lock = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.M)
    assert {*pins} <= {*lock}
    assert {"sqlalchemy", "starlette", "uvicorn", "psycopg", "httptools"} <= {n for n, _ in pins}
