"""The attacks' own machinery: a case that fails is kept, and what dies is told apart."""

from __future__ import annotations

import os
import re
import runpy
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def _divide(a: float, b: float) -> float:
    return a / b


def test_isolated_tells_how_a_process_ended(isolated: Any) -> None:
    assert isolated(_divide, 6.0, 3.0).value == 2.0
    name, text = isolated(_divide, 1.0, 0.0).value
    assert name == "ZeroDivisionError"
    assert text.endswith("division by zero")  # until Python 3.13 "float division"
    assert isolated(os.abort).kind == "died"
    assert isolated(time.sleep, 30, seconds=0.2).kind == "timeout"
    assert isolated(np.ones, 1 << 30, memory=1 << 28).value[0] == "MemoryError"


@pytest.mark.attack(quick=9, whole=9, judge="the machinery itself")
def test_machinery(attack: Any) -> None:
    """Each case has random numbers of its own; what fails is kept with its number."""
    drawn = []
    for case in attack:
        with case:
            drawn.append(case.rng.random())
            assert case.number != 1, "kept"
    assert len(set(drawn)) == len(attack.numbers)
    assert attack.outcomes == {"equal": len(drawn) - 1, "failed": 1}
    assert "case 1: " in attack.failures[0]
    assert "kept" in attack.failures[0]
    attack.failures.clear()
    attack.outcomes.clear()  # none of them counts


def test_every_attack_is_on_the_page() -> None:
    docs = Path(__file__).parents[2] / "docs"
    attacks = runpy.run_path(str(docs / "build_reliability.py"))["attacks"]()
    page = (docs / "reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| ([a-z ]+) \| [A-Z`]", page, re.MULTILINE)
    assert named == [attack.name.replace("_", " ") for attack in attacks]
    failed = re.findall(r"\| [\d,]+ of [\d,]+ \|.*\| ([\d,]+) \|$", page, re.MULTILINE)
    assert set(failed) == {"0"}
    assert len(failed) == len(attacks)
