"""The pictures of the documentation are made by a script, and show what there is."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.shared import builder

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("pictures")


def test_every_picture_has_a_maker_and_a_page(build: ModuleType) -> None:
    files = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    pages = "".join(p.read_text(encoding="utf-8") for p in files)
    shown = set(re.findall(r"\((?:docs/|\.\./)?images/([\w.-]+)\)", pages))
    made = {*build.PICTURES, *build.PLOTS, "architecture.svg", "logo.svg"}
    assert shown == made
    assert {p.name for p in (DOCS / "images").iterdir()} == made | {"logo-mark.svg"}


def test_drawn_pictures_are_readable_on_dark_pages() -> None:
    """A background, and another colour for each: a picture does not see its page."""
    for path in (DOCS / "images").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        if not path.stem.startswith("logo"):
            assert "prefers-color-scheme: dark" in text
            assert "paper" in text or "fill: #ffffff" in text, path.name


def test_the_functions_are_those_of_the_pages(build: ModuleType) -> None:
    page = (DOCS / "certificate.md").read_text(encoding="utf-8")
    code = build.MODEL.replace('    """Energy of a pendulum and a soft wall."""\n', "")
    assert code[code.index("def pendulum") : code.index("\n\n\ndef loss")] in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report-light.png", "derivation-dark.png"])
def test_a_picture_can_be_made_again(
    build: ModuleType, browser: Any, name: str, tmp_path: Path
) -> None:
    images = pytest.importorskip("PIL.Image")
    picture = build.PICTURES[name]
    try:
        fresh = build.taken(browser, picture, picture.page(build.loaded(tmp_path), tmp_path))
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    made = images.open(io.BytesIO(build.small(fresh)))
    kept = images.open(DOCS / "images" / name)
    assert made.width == kept.width == round(picture.width * picture.scale)
    assert abs(made.height - kept.height) < 0.2 * kept.height  # fonts differ
    ink = [im.convert("L").resize((1, 1)).getpixel((0, 0)) for im in (made, kept)]
    assert abs(ink[0] - ink[1]) < 16  # dark stays dark
