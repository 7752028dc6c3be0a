"""docs/packages.md and its picture show the packages and imports that there are."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from tests.shared import builder

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("architecture")


@pytest.mark.slow
def test_the_picture_is_up_to_date(build: ModuleType) -> None:
    """Layers and imports; the counts of lines may be those of an earlier day."""
    committed = build.PICTURE.read_text(encoding="utf-8")
    fresh = build.drawing()
    assert ET.fromstring(fresh).tag.endswith("svg")
    assert build.structure(committed) == build.structure(fresh), (
        "run: python docs/build_architecture.py"
    )


@pytest.mark.slow
def test_every_package_has_its_words(build: ModuleType) -> None:
    page = (DOCS / "packages.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?`) \| ", page, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert named == [part.name for part in build.parts()]
