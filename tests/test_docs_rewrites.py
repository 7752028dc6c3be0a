"""Every shortcut and identity gains digits and loses none, as certificates see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.shared import builder

DOCS = Path(__file__).parents[1] / "docs"


build = builder("rewrites")
RULES = (*build.SHORTCUTS, *build.IDENTITIES)


def test_every_rule_is_on_the_page() -> None:
    text = (DOCS / "rewrites.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(.*?)` \|", text, re.MULTILINE)
    assert named == [rule.name for rule in RULES], "run: python docs/build_rewrites.py"
    assert set(named) >= build.AT_ZERO
    assert build.ARRAYS.keys() == {rule.name for rule in RULES if isinstance(rule, build.Reduced)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.quick(1)
def test_certificates_show_the_gain(rule: Any) -> None:
    gains = []
    for before, after in zip(*build.compared(rule), strict=True):
        assert after.nans <= before.nans
        assert after.max_ulp <= max(before.max_ulp, 4.0)
        gains += [after.nans < before.nans, after.max_ulp < before.max_ulp / 2]
    assert any(gains) != (rule.name in build.AT_ZERO), "the chain rule is as good"
