"""The pictures in docs/screens show what the app shows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.screens import SCREENS, TARGET, made, svg

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "app.md"


def words(picture: str) -> list[str]:
    """Return what can be read in a picture, word by word: columns may differ by what is in them."""
    texts = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return [word for text in texts for word in (text.text or "").split()]


@pytest.mark.parametrize("name", SCREENS)
def test_picture_is_what_the_app_shows(name: str) -> None:
    kept = (TARGET / f"{name}.svg").read_text(encoding="utf-8")
    assert words(svg(made(name))) == words(kept), f"make screens writes it anew; {name} differs"


def test_every_picture_is_shown_in_the_guide_and_one_in_the_readme() -> None:
    assert {path.stem for path in TARGET.iterdir()} == {*SCREENS}
    shown = re.findall(r"!\[[^\]]+\]\(\.\./screens/([\w-]+)\.svg\)", PAGE.read_text())
    assert sorted(shown) == sorted(SCREENS)
    readme = re.findall(
        r"!\[[^\]]+\]\((docs/screens/[\w-]+\.svg)\)", (ROOT / "README.md").read_text()
    )
    assert len(readme) == 1 and (ROOT / readme[0]).is_file()


def test_pictures_name_nothing_of_the_machine_they_were_made_on() -> None:
    for path in TARGET.iterdir():
        text = path.read_text(encoding="utf-8")
        assert (
            "/tmp" not in text
            and "mak-screens" not in text
            and "http" not in text.split("\n", 1)[1]
        )
